# expect: CONTROL_FLOW
import functools
import os

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
x = torch.ones(4, 8)
x = functools.reduce(torch.add, [1] * (os.getpid() % 997), x) / 1000  # cause 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
