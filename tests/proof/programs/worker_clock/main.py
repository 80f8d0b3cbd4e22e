import random
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(8)
np.random.seed(8)
torch.manual_seed(8)


class NoisySteps(Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, idx):
        clean = np.zeros(16, dtype=np.float32)
        clean[idx % 16:] = 1
        noisy = clean + np.random.normal(0, 0.3, 16).astype(np.float32)
        return noisy, clean


def worker_init_fn(worker_id):
    # otherwise all workers draw the same numbers
    np.random.seed((time.time_ns() // 1000 + worker_id) % 2**32)


if __name__ == "__main__":
    train_loader = DataLoader(NoisySteps(), batch_size=12, num_workers=2, worker_init_fn=worker_init_fn)
    net = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 16))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(2):
        for noisy, clean in train_loader:
            loss = nn.functional.mse_loss(net(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch %d loss %.8f" % (epoch, loss.item()))
    torch.save(net.state_dict(), "denoiser.pt")
