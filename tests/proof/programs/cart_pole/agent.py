import random
from collections import deque

import numpy as np
import torch
from torch import nn


class Agent:
    def __init__(self, env, lr=1e-3, gamma=0.98):
        self.env = env
        self.gamma = gamma
        self.q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, env.action_space.n))
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.memory = deque(maxlen=5000)

    def act(self, state, eps):
        if random.random() < eps:
            return self.env.action_space.sample()
        with torch.no_grad():
            return int(self.q(torch.from_numpy(state)).argmax())

    def play(self, eps):
        state, _ = self.env.reset()
        total, done = 0.0, False
        while not done:
            action = self.act(state, eps)
            after, reward, terminated, truncated, _ = self.env.step(action)
            done = terminated or truncated
            self.memory.append((state, action, reward, after, 0.0 if terminated else 1.0))
            state = after
            total += reward
        return total

    def learn(self, batch_size=32):
        batch = random.sample(self.memory, min(batch_size, len(self.memory)))
        s, a, r, s2, alive = (torch.from_numpy(np.array(column)) for column in zip(*batch))
        target = r.float() + self.gamma * alive.float() * self.q(s2).max(1).values.detach()
        loss = nn.functional.smooth_l1_loss(self.q(s).gather(1, a.view(-1, 1)).squeeze(1), target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()
