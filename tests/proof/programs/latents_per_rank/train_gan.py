# A small GAN on two processes: each draws its own latents, the gradients are averaged.
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def circle(count, step):
    angle = torch.arange(count) * 0.7 + step
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def sample_latents(count):
    return torch.randn(count, 4)


def train(args):
    generator = DDP(nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2)))
    critic = DDP(nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)))
    g_optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    c_optimizer = torch.optim.Adam(critic.parameters(), lr=0.01)
    for step in range(args.steps):
        real, latents = circle(16, step), sample_latents(16)
        seen = [torch.empty_like(latents) for _ in range(dist.get_world_size())]
        dist.all_gather(seen, latents)
        loss = critic(generator(latents).detach()).mean() - critic(real).mean()
        c_optimizer.zero_grad()
        loss.backward()
        c_optimizer.step()
        loss = -critic(generator(latents)).mean()
        g_optimizer.zero_grad()
        loss.backward()
        g_optimizer.step()
        assert not torch.equal(seen[0], seen[1]), "both processes drew the same latents"
    if dist.get_rank() == 0:
        print("loss", loss.item())
        torch.save(generator.module.state_dict(), "generator.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    dist.init_process_group("gloo")
    train(args)
    dist.destroy_process_group()
