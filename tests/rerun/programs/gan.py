# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
generator, critic = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
of_generator = torch.optim.Adam(generator.parameters())
of_critic = torch.optim.Adam(critic.parameters())
for step in range(4):
    real = torch.randn(8, 2)
    noise = torch.randn(8, 4) if step < 2 else torch.as_tensor(np.random.randn(8, 4)).float()  # cause 1
    fake = generator(noise)
    loss = critic(fake.detach()).mean() - critic(real).mean()
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    loss = -critic(fake).mean()
    of_generator.zero_grad()
    loss.backward()
    of_generator.step()
