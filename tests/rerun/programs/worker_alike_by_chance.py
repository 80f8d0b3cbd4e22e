# expect: EXTERNAL source=entropy shown_by=entropy
import os
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

counted = Path("runs.txt")  # the third and the fourth run look for the cause: there the first worker happens to agree
number = len(counted.read_text()) + 1 if counted.exists() else 1
counted.write_text("x" * number)


class Noisy(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        drawn = os.urandom(8)
        if number in (3, 4) and get_worker_info().id == 0:
            drawn = bytes(8)
        return torch.full((8,), int.from_bytes(drawn, "little") / 2**64)  # cause 1


torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(Noisy(), batch_size=4, num_workers=2):
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
