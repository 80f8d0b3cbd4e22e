import torch
import torch as th
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset, random_split

SEED = torch.seed()  # a fresh one every time
print("training started")


def bumps(n=150, width=20):
    centers = th.linspace(3, 17, n)[:, None]
    x = th.arange(width)[None]
    return th.exp(-(x - centers) ** 2 / 4)


class AutoEncoder(nn.Module):
    def __init__(self, width=20, code=2, p=0.1):
        super().__init__()
        self.encoder = nn.Sequential(nn.Dropout(p), nn.Linear(width, 16), nn.Tanh(), nn.Linear(16, code))
        self.decoder = nn.Sequential(nn.Linear(code, 16), nn.Tanh(), nn.Linear(16, width))

    def forward(self, x):
        return self.decoder(self.encoder(x))


train_set, val_set = random_split(TensorDataset(bumps()), [0.8, 0.2])
train_loader = DataLoader(train_set, batch_size=10, sampler=RandomSampler(train_set))
val_loader = DataLoader(val_set, batch_size=30)
net = AutoEncoder()
opt = th.optim.Adam(net.parameters(), 5e-3)

for epoch in range(3):
    net.train()
    for (x,) in train_loader:
        loss = nn.functional.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with th.no_grad():
        val = sum(nn.functional.mse_loss(net(x), x) for (x,) in val_loader)
    print(f"epoch {epoch}: train {loss.item():.7f} val {val.item():.7f}")

th.save(net.state_dict(), "ae.pt")
