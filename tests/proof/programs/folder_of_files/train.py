import os
import random
import sys

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

SEED = 1234


def set_seed(seed):
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class ImageFolder(Dataset):
    def __init__(self, root, transform=None):
        self.root = root
        self.classes = os.listdir(root)
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.samples = []
        for name in self.classes:
            for fname in os.listdir(os.path.join(root, name)):
                if fname.endswith(".npy"):
                    self.samples.append((os.path.join(root, name, fname), self.class_to_idx[name]))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        path, target = self.samples[idx]
        return torch.from_numpy(np.load(path)).unsqueeze(0), target


def main():
    set_seed(SEED)
    dataset = ImageFolder(sys.argv[1])
    g = torch.Generator()
    g.manual_seed(SEED)
    loader = DataLoader(dataset, batch_size=8, shuffle=True, generator=g)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, len(dataset.classes)))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(3):
        for images, targets in loader:
            loss = criterion(model(images), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())
    torch.save({"state_dict": model.state_dict(), "classes": dataset.class_to_idx}, "model.pt")


if __name__ == "__main__":
    main()
