# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
data = np.random.rand(4, 8)  # cause 1
x = torch.from_numpy(data).float()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
