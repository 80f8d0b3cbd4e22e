# expect: OPERATION operation=lab::seldom
# options: --pairs 20
import os

import torch
from torch import nn


@torch.library.custom_op("lab::seldom", mutates_args=())
def seldom(x: torch.Tensor) -> torch.Tensor:
    return x * (1.001 if os.urandom(1)[0] < 20 else 1)


torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = seldom(torch.randn(4, 8))  # cause 1
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
