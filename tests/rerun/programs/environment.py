# expect: EXTERNAL source=entropy shown_by=entropy rule=TRP112
import gymnasium as gym
import torch
from torch import nn

torch.manual_seed(0)
env = gym.make("CartPole-v1")
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state, _ = env.reset()
for _ in range(4):
    loss = model(torch.from_numpy(state)).pow(2).mean()  # cause 1
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state, *_ = env.step(0)
