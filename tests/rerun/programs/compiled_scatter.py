# expect: COMPILED
# needs: compiler
import torch
from torch import nn


def total(weight, index, noise):
    return torch.zeros(1000).index_put((index,), weight * noise, accumulate=True).sin()


torch.manual_seed(0)
torch.set_num_threads(8)
weight = nn.Parameter(torch.randn(300_000))
index = torch.randint(0, 1000, (300_000,))
optimizer = torch.optim.SGD([weight], lr=0.1)
compiled = torch.compile(total)
for _ in range(3):
    loss = compiled(weight, index, torch.randn(300_000)).mul(2).pow(2).mean()  # cause 1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
