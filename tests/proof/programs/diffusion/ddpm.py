import math

import torch
from torch import nn
from schedule import NoiseSchedule

schedule = NoiseSchedule()
gen = torch.Generator()
gen.seed()


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.time = nn.Embedding(schedule.steps, dim)
        self.inp = nn.Linear(2, dim)
        self.mid = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        h = nn.functional.silu(self.inp(x) + self.time(t))
        return self.out(nn.functional.silu(self.mid(h)))


def spiral(n):
    t = torch.rand(n, generator=gen) * 3 * math.pi
    return torch.stack([t * t.cos(), t * t.sin()], 1) / 10


def train(model, iterations):
    opt = torch.optim.Adam(model.parameters(), 2e-3)
    for i in range(iterations):
        x0 = spiral(64)
        t = torch.randint(0, schedule.steps, (64,), generator=gen)
        noise = torch.randn(x0.shape, generator=gen)
        loss = (model(schedule.q_sample(x0, t, noise), t) - noise).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (i + 1) % 15 == 0:
            print("iter", i + 1, "mse", loss.item())


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for t in reversed(range(schedule.steps)):
        eps = model(x, torch.full((n,), t))
        x = (x - schedule.beta[t] / (1 - schedule.alpha_bar[t]).sqrt() * eps) / schedule.alpha[t].sqrt()
        if t:
            x = x + schedule.beta[t].sqrt() * torch.randn_like(x)
    return x


if __name__ == "__main__":
    model = Denoiser()
    train(model, 45)
    torch.save(model.state_dict(), "ddpm.pt")
    torch.save(sample(model, 32), "samples.pt")
