# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
block = nn.Sequential(nn.Linear(8, 32), nn.Dropout(0.1), nn.ReLU(), nn.Linear(32, 8))
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*block.parameters(), *model.parameters()], lr=0.1)
for _ in range(3):
    x = torch.ones(4, 8, requires_grad=True) * np.random.rand()  # cause 1
    loss = model(checkpoint(block, x, use_reentrant=False)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
