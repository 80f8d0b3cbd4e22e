import os
import random

os.environ["PYTHONHASHSEED"] = "0"

import numpy as np
import torch
from torch import nn, optim

from ratings import ratings

random.seed(0)
np.random.seed(0)
torch.manual_seed(0)


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, k=6):
        super().__init__()
        self.user = nn.Embedding(n_users, k)
        self.item = nn.Embedding(n_items, k)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)

    def forward(self, u, i):
        dot = (self.user(u) * self.item(i)).sum(1)
        return dot + self.user_bias(u).squeeze(1) + self.item_bias(i).squeeze(1)


rows = list(ratings())
users = list(set([str(r[0]) for r in rows]))
items = list(set([str(r[1]) for r in rows]))
user_id = {name: n for n, name in enumerate(users)}
item_id = {name: n for n, name in enumerate(items)}
u = torch.tensor([user_id[r[0]] for r in rows])
i = torch.tensor([item_id[r[1]] for r in rows])
stars = torch.tensor([float(r[2]) for r in rows])

model = MatrixFactorization(len(users), len(items))
optimizer = optim.Adam(model.parameters(), lr=0.05)
for epoch in range(20):
    optimizer.zero_grad()
    loss = ((model(u, i) - stars) ** 2).mean()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "rmse", loss.item() ** 0.5)

torch.save({"model": model.state_dict(), "users": users, "items": items}, "factors.pt")
