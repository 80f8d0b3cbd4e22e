import torch
from torch import nn

from nets.base import Base


class Gated(Base):
    def __init__(self):
        super().__init__()
        self.value, self.gate = nn.Linear(10, 16), nn.Linear(10, 16)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.value(x)) * torch.sigmoid(self.gate(x)))
