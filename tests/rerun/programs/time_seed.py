# expect: UNSEEDED generator=torch shown_by=torch rule=TRP102
import time

import torch
from torch import nn

torch.manual_seed(time.time_ns() % 2**31)  # cause 1
model = nn.Linear(8, 1)
x = torch.ones(4, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
