# expect: CONCURRENT rule=TRP304
import time

import torch
import torch.multiprocessing as mp
from torch import nn


def train(model, rank):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(30):
        time.sleep(0.001)  # the other process has its turn, also where both share a core
        loss = model(torch.randn(16, 64)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    shared = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 1)).share_memory()
    processes = [mp.get_context("fork").Process(target=train, args=(shared, rank)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
