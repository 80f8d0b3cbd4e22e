# expect: IDENTICAL
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return torch.randn(8) + index + np.random.rand()


torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
for batch in DataLoader(Noisy(), batch_size=4, num_workers=2, shuffle=True):
    loss = model(batch.float()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
