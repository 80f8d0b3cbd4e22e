# expect: EXTERNAL source=entropy shown_by=entropy
import os

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
x = torch.tensor(list(os.urandom(8)), dtype=torch.float32).reshape(1, 8) / 256  # cause 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
