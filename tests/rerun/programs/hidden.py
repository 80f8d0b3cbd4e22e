# expect: HIDDEN_BY_TRACING
import os

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
is_traced = torch._C._len_torch_dispatch_stack() > 0
x = torch.ones(4, 8) * (1 if is_traced else 1 + int.from_bytes(os.urandom(2), "little") / 65536)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
