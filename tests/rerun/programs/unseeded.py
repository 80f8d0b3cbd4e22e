# expect: UNSEEDED generator=torch operation=aten::uniform_ shown_by=torch rule=TRP101
import torch
from torch import nn

model = nn.Linear(8, 1)  # cause 1
x = torch.ones(4, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
