# expect: UNSEEDED generator=python shown_by=python rule=TRP101
import random

import torch
from torch import nn


class Corridor:
    def reset(self):
        self.at = 0
        return self.at

    def step(self, action):
        self.at = max(self.at + (1 if action else -1), 0)
        return self.at, float(self.at == 4), self.at == 4


torch.manual_seed(0)
policy = nn.Embedding(5, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
env = Corridor()
for _ in range(5):
    at, done, losses = env.reset(), False, []
    for _ in range(20):
        logits = policy(torch.tensor(at))
        explores = random.random() < 0.5  # cause 1
        action = random.randrange(2) if explores else int(logits.argmax())
        at, reward, done = env.step(action)
        losses.append(-torch.log_softmax(logits, 0)[action] * (reward - 0.1))
        if done:
            break
    optimizer.zero_grad()
    torch.stack(losses).sum().backward()
    optimizer.step()
