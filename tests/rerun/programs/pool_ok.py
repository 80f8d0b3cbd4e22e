# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
import torch, time
from concurrent.futures import ThreadPoolExecutor
import numpy as np
torch.manual_seed(0)
def load(n):
    time.sleep(0.002 * (n * 7 % 5))
    return torch.full((8,), float(n)).sqrt() * 2
weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.01)
with ThreadPoolExecutor(3) as pool:
    for x in pool.map(load, range(12)):
        loss = (weight * x).sum() * np.random.rand()  # cause 1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
