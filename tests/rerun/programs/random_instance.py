# expect: UNSEEDED generator=python shown_by=python rule=TRP104
import random

import torch
from torch import nn

torch.manual_seed(0)
rng = random.Random()  # cause 1
model = nn.Linear(8, 1)
x = torch.tensor([[rng.random() for _ in range(8)] for _ in range(4)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
