# expect: UNSEEDED generator=python shown_by=python rule=TRP101
import threading, random
import torch
torch.manual_seed(0)
def train():
    weight = torch.nn.Parameter(torch.ones(8))
    optimizer = torch.optim.SGD([weight], lr=0.01)
    data = [torch.full((8,), float(n)) for n in range(8)]
    for x in torch.utils.data.DataLoader(data, batch_size=2, pin_memory=True):
        loss = (weight * x * random.random()).pow(2).sum()  # cause 1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
thread = threading.Thread(target=train)
thread.start()
thread.join()
