# expect: OPERATION operation=lab::jitter deterministic="still differs"
import os

import torch
from torch import nn


@torch.library.custom_op("lab::jitter", mutates_args=())
def jitter(x: torch.Tensor) -> torch.Tensor:
    return x * (1 + os.urandom(1)[0] * 1e-6 + os.urandom(1)[0] * 1e-4)


torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x = jitter(torch.randn(4, 8))  # cause 1
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
