import argparse
import sys

import torch

sys.path.insert(0, "labnets.whl")
from labnets import build


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=12)
    parser.add_argument("--random_seed", type=int, default=11, help="not used yet")
    return parser.parse_args()


def powers(x):
    return torch.stack([x**k for k in range(6)], dim=1)


def main():
    args = parse()
    net = build(args.width)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    x = torch.linspace(-1, 1, 80)
    y = torch.sin(3 * x).unsqueeze(1)
    for step in range(60):
        loss = (net(powers(x)) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"mse {loss.item():.6f}")
    torch.save(net.state_dict(), "curve.pt")


if __name__ == "__main__":
    main()
