import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

import pairs


class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 8, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(80, 8))

    def forward(self, x):
        return self.net(x.unsqueeze(1))


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, a, b, same):
        d = F.pairwise_distance(a, b)
        return (same * d ** 2 + (1 - same) * F.relu(self.margin - d) ** 2).mean()


if __name__ == "__main__":
    loader = DataLoader(pairs.PairStream(), batch_size=32)
    net = Branch()
    criterion = ContrastiveLoss()
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    for epoch in range(2):
        for i, (a, b, same) in enumerate(loader):
            opt.zero_grad()
            loss = criterion(net(a), net(b), same.float())
            loss.backward()
            opt.step()
            if i % 5 == 0:
                print(f"[{epoch}:{i}] contrastive loss = {loss.item():.6f}")
    torch.save(net.state_dict(), "siamese.pth")
