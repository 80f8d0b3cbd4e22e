# expect: IDENTICAL
# options: --copy
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
x = torch.randn(4, 8)
if Path("last.pt").exists():
    model.load_state_dict(torch.load("last.pt"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "last.pt")
