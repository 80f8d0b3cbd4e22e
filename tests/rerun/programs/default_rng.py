# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP104
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
rng = np.random.default_rng()  # cause 1
model = nn.Linear(8, 1)
x = torch.from_numpy(rng.random((4, 8), dtype=np.float32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
