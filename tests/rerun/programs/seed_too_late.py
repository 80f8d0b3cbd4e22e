# expect: UNSEEDED generator=torch shown_by=torch rule=TRP103
import torch
from torch import nn

model = nn.Linear(8, 1)  # cause 1
torch.manual_seed(0)
x = torch.randn(4, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
