# expect: UNSEEDED generator=torch operation=aten::randperm shown_by=torch rule=TRP101
# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
import numpy as np
import torch
from torch.utils.data import random_split

first, second = random_split(range(8), [4, 4])  # PyTorch itself hands its default generator on  # cause 1
x = torch.tensor(first.indices, dtype=torch.float32) + torch.tensor(np.random.rand(4))  # cause 2
weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(4):
    loss = (weight * x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
