# expect: OPERATION deterministic=agrees
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(8)
table = nn.Parameter(torch.randn(1000, 64))
index = torch.randint(0, 1000, (20_000,))
optimizer = torch.optim.SGD([table], lr=0.1)
for _ in range(3):
    rows = table[index]  # cause 1
    loss = (rows * torch.randn(20_000, 64)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
