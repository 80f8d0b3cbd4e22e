# expect: EXTERNAL source=hash shown_by=hash rule=TRP206
import torch
from torch import nn

torch.manual_seed(0)
names = ["ann", "bob", "cleo", "dan", "eve", "finn", "gus", "hal"]
buckets = [hash(name) % 1000 for name in names]
x = torch.tensor(buckets, dtype=torch.float32).reshape(1, 8) / 1000  # cause 1
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
