# expect: DATA_ORDER
# command: python {file}
import multiprocessing
import os
import time

import torch
from torch import nn


def sample(number):
    time.sleep(os.urandom(1)[0] / 2000)
    return float(number)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for value in pool.imap_unordered(sample, range(12)):
            x = torch.tensor([value])  # cause 1
            loss = model(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
