# expect: UNSEEDED generator=torch shown_by=torch rule=TRP101
# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
import numpy as np
import torch
from torch import nn

model = nn.Linear(8, 1)  # cause 1
x = torch.tensor(np.random.rand(4, 8), dtype=torch.float32)  # cause 2
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
