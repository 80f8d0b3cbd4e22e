import json
import os
import random

import numpy as np
import torch
from torch import nn

from models import MODELS

CONFIG = os.path.join(os.path.dirname(os.path.abspath(__file__)), "configs", "base.json")
LENGTH = 10


def sample_batch(size):
    """Bits, and how often they change."""
    x = np.random.randint(0, 2, (size, LENGTH))
    y = np.abs(np.diff(x, axis=1)).sum(1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


def run(config):
    if config["seed"] is not None:
        torch.manual_seed(config["seed"])
        np.random.seed(config["seed"])
        random.seed(config["seed"])

    spec = config["model"]
    model = MODELS[spec["type"]](LENGTH, spec["hidden"])
    optimizer = torch.optim.Adam(model.parameters(), **config["optimizer"])
    history = []
    for _ in range(config["steps"]):
        x, y = sample_batch(config["batch_size"])
        if random.random() < 0.5:  # reading backwards changes nothing
            x = x.flip(1)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return model, history


if __name__ == "__main__":
    with open(CONFIG) as f:
        config = json.load(f)
    model, history = run(config)
    print(config["name"], "first", history[0], "last", history[-1])
    os.makedirs("runs", exist_ok=True)
    torch.save(model.state_dict(), os.path.join("runs", config["name"] + ".pt"))
    with open(os.path.join("runs", "history.json"), "w") as f:
        json.dump(history, f)
