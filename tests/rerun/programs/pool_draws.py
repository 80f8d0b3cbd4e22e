# expect: CONCURRENT generator=torch
import torch, time
from concurrent.futures import ThreadPoolExecutor
torch.manual_seed(0)
def load(n):
    time.sleep(time.monotonic_ns() % 251 / 10000)  # as long as it happens to take
    return n + torch.rand(8)  # cause 1
weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.01)
with ThreadPoolExecutor(3) as pool:
    for x in pool.map(load, range(12)):
        loss = (weight * x).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
