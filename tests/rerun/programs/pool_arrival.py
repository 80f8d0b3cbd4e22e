# expect: CONCURRENT rule=TRP304
import torch, time
from concurrent.futures import ThreadPoolExecutor, as_completed
torch.manual_seed(0)
def load(n):
    time.sleep(time.monotonic_ns() % 251 / 10000)  # as long as it happens to take
    return torch.full((8,), float(n)).sqrt() * 2
weight = torch.nn.Parameter(torch.ones(8))
optimizer = torch.optim.SGD([weight], lr=0.01)
with ThreadPoolExecutor(3) as pool:
    for done in as_completed([pool.submit(load, n) for n in range(12)]):
        loss = (weight * done.result()).pow(2).sum()  # cause 1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
