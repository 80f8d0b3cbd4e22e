# expect: OPERATION operation=aten::index_put_ deterministic=agrees
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(8)
weight = nn.Parameter(torch.randn(300_000))
index = torch.randint(0, 1000, (300_000,))
optimizer = torch.optim.SGD([weight], lr=0.1)
for _ in range(3):
    values = weight * torch.randn(300_000)
    total = torch.zeros(1000).index_put_((index,), values, accumulate=True)  # cause 1
    loss = total.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
