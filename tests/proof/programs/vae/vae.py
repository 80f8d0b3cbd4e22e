# A VAE on noisy sine images. Everything at module level, like a script that was once a notebook.
import math

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.backends.cudnn.benchmark = True
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

EPOCHS = 3
LATENT = 4

t = torch.linspace(0, 2 * math.pi, 32)
phases = torch.arange(200) / 200 * 2 * math.pi
data = 0.5 + 0.4 * torch.sin(t[None, :] + phases[:, None]) + 0.05 * torch.randn(200, 32)
loader = DataLoader(TensorDataset(data.clamp(0, 1)), batch_size=20, shuffle=True)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(32, 24)
        self.mu = nn.Linear(24, LATENT)
        self.logvar = nn.Linear(24, LATENT)
        self.dec = nn.Sequential(nn.Linear(LATENT, 24), nn.ReLU(), nn.Linear(24, 32), nn.Sigmoid())

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


model = VAE().to(device)
optimizer = optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(1, EPOCHS + 1):
    train_loss = 0
    for (x,) in loader:
        x = x.to(device)
        optimizer.zero_grad()
        recon, mu, logvar = model(x)
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = bce + kld
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
    print("====> Epoch: {} Average loss: {:.4f}".format(epoch, train_loss / len(data)))

with torch.no_grad():
    sample = model.dec(torch.randn(16, LATENT).to(device)).cpu()
torch.save(sample, "samples.pt")
torch.save(model.state_dict(), "vae.pt")
