# expect: UNSEEDED generator=numpy operation=np.random.randint shown_by=numpy process=main rule=TRP101
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def sample(self):
        self.items = [np.random.randint(40) for _ in range(64)]  # cause 1

    def __len__(self):
        return 64

    def __getitem__(self, index):
        return self.items[index]


if __name__ == "__main__":
    torch.manual_seed(0)
    pairs = Pairs()
    loader = DataLoader(pairs, batch_size=8, num_workers=2)
    model = torch.nn.Embedding(40, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    pairs.sample()
    for item in loader:
        optimizer.zero_grad()
        model(item).sum().backward()
        optimizer.step()
