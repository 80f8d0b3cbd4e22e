import numpy as np
import torch
from torch import nn

from settings import fix_seed, read_settings

config = read_settings()
fix_seed(config["seed"])

rng = np.random.default_rng(config["noise"]["seed"])
t = np.linspace(0, 20, 400)
wave = np.sin(t) + config["noise"]["scale"] * rng.normal(size=t.shape)
windows = torch.tensor(np.stack([wave[i : i + 16] for i in range(380)]), dtype=torch.float32)
targets = torch.tensor(wave[16:396], dtype=torch.float32)

model = nn.Sequential(nn.Linear(16, config["model"]["hidden"]), nn.Tanh(), nn.Linear(config["model"]["hidden"], 1))
optimizer = torch.optim.Adam(model.parameters(), lr=config["train"]["lr"])
for step in range(config["train"]["steps"]):
    picked = np.random.randint(0, len(windows), size=config["train"]["batch"])
    loss = nn.functional.mse_loss(model(windows[picked]).squeeze(1), targets[picked])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.6f}")
torch.save(model.state_dict(), "forecaster.pt")
