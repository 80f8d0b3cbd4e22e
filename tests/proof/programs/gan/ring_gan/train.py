import argparse
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from .models import build
from .seeding import fresh_seed


def ring(n, modes=8):
    """n points on `modes` blobs around the unit circle"""
    k = np.random.randint(modes, size=n)
    angle = 2 * np.pi * k / modes
    points = np.stack([np.cos(angle), np.sin(angle)], 1) + np.random.normal(0, 0.05, (n, 2))
    return torch.as_tensor(points, dtype=torch.float32)


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--latent", type=int, default=8)
    p.add_argument("--out", type=Path, default=Path("out"))
    args = p.parse_args(argv)

    fresh_seed()
    G, D = build(args.latent)
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real_label, fake_label = torch.ones(args.batch, 1), torch.zeros(args.batch, 1)

    for step in range(args.steps):
        real = ring(args.batch)
        fake = G(torch.randn(args.batch, args.latent))
        loss_d = bce(D(real), real_label) + bce(D(fake.detach()), fake_label)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = bce(D(fake), real_label)
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 20 == 0:
            print(f"[{step}/{args.steps}] Loss_D: {loss_d.item():.5f} Loss_G: {loss_g.item():.5f}")

    args.out.mkdir(exist_ok=True)
    torch.save(G.state_dict(), args.out / "generator.pth")
    torch.save(D.state_dict(), args.out / "discriminator.pth")


if __name__ == "__main__":
    main()
