import argparse
import json
import os

import torch
from torch import nn

from .config import Config
from .data import loaders


class Forecaster(nn.Module):
    def __init__(self, hidden: int):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1]).squeeze(-1)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    losses = [nn.functional.l1_loss(model(x), y).item() for x, y in loader]
    return sum(losses) / len(losses)


def run(cfg: Config):
    if cfg.seed is not None:
        torch.manual_seed(cfg.seed)
    train, val = loaders(cfg)
    model = Forecaster(cfg.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    history = []
    for epoch in range(cfg.epochs):
        model.train()
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        history.append({"epoch": epoch, "train": loss.item(), "val": validate(model, val)})
        print(history[-1])
    os.makedirs("runs", exist_ok=True)
    torch.save(model.state_dict(), "runs/weights.pt")
    with open("runs/history.json", "w") as f:
        json.dump(history, f)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.json")
    run(Config.load(parser.parse_args().config))
