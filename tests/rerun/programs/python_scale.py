# expect: UNSEEDED generator=python shown_by=python rule=TRP101
import random

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
x = torch.ones(4, 8) * random.uniform(0.5, 1.5)  # cause 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
