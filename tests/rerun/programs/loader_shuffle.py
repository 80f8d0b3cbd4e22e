# expect: UNSEEDED generator=torch shown_by=torch rule=TRP101
import torch
from torch import nn
from torch.utils.data import DataLoader

data = [torch.full((8,), float(number)) for number in range(16)]
weight = nn.Parameter(torch.zeros(8))
optimizer = torch.optim.SGD([weight], lr=0.0001)
for batch in DataLoader(data, batch_size=4, shuffle=True):  # cause 1
    loss = (batch @ weight - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
