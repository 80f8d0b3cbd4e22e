# expect: UNSEEDED generator=torch shown_by=torch idle=True rule=TRP101
# expect: UNSEEDED generator=numpy shown_by=numpy idle=False rule=TRP101
import numpy as np
import torch

model = torch.nn.Linear(4, 1)  # drawn, and then put aside  # cause 1
model.load_state_dict({"weight": torch.ones(1, 4), "bias": torch.zeros(1)})
x = torch.tensor(np.random.rand(8, 4), dtype=torch.float32)  # cause 2
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
