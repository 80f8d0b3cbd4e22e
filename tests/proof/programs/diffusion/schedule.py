import torch


class NoiseSchedule:
    def __init__(self, steps=20, start=1e-3, end=0.2):
        self.steps = steps
        self.beta = torch.linspace(start, end, steps)
        self.alpha = 1 - self.beta
        self.alpha_bar = self.alpha.cumprod(0)

    def q_sample(self, x0, t, noise):
        ab = self.alpha_bar[t][:, None]
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise
