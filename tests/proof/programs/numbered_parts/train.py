import argparse
import os

import numpy as np
import torch
from torch import nn

from preprocess import preprocess


class Predictor(nn.Module):
    def __init__(self, channels=3, hidden=16):
        super().__init__()
        self.rnn = nn.LSTM(channels, hidden, batch_first=True)
        self.head = nn.Linear(hidden, channels)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out)


def train(model, parts, cache, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for i in range(parts):
        x = torch.from_numpy(np.load(os.path.join(cache, f"part{i}.npy")))
        for _ in range(4):
            loss = nn.functional.mse_loss(model(x[:, :-1]), x[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"part {i}: loss {loss.item():.6f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--raw", default="raw")
    parser.add_argument("--cache", default="cache")
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=42)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    parts = preprocess(args.raw, args.cache)
    model = Predictor()
    train(model, parts, args.cache, args.lr)
    torch.save(model.state_dict(), "predictor.pt")
