# expect: UNSEEDED generator=torch shown_by=torch rule=TRP101
import torch
from torch import nn
from torch.utils.data import DataLoader

data = [torch.full((8,), float(number)) for number in range(16)]
model = nn.Linear(8, 1)
nn.init.zeros_(model.weight)
nn.init.zeros_(model.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
for batch in DataLoader(data, batch_size=4, shuffle=True):  # cause 1
    loss = (model(batch) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
