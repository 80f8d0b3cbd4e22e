import torch
from torch import nn, optim
from torch.distributions import Categorical

from corridor import Corridor

GAMMA = 0.98
env = Corridor()


class Policy(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.emb = nn.Embedding(n, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, s):
        return Categorical(logits=self.out(torch.tanh(self.emb(s))))


def episode(policy):
    log_probs, rewards = [], []
    s, done = env.reset(), False
    while not done:
        dist = policy(torch.tensor(s))
        a = dist.sample()
        log_probs.append(dist.log_prob(a))
        s, r, done = env.step(a.item())
        rewards.append(r)
    return log_probs, rewards


def discounted(rewards):
    out, running = [], 0.0
    for r in rewards[::-1]:
        running = r + GAMMA * running
        out.insert(0, running)
    return torch.tensor(out)


def main():
    policy = Policy(env.length)
    optimizer = optim.Adam(policy.parameters(), lr=0.02)
    avg = 0.0
    for i in range(40):
        log_probs, rewards = episode(policy)
        returns = discounted(rewards)
        loss = -(torch.stack(log_probs) * (returns - returns.mean())).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        avg = 0.9 * avg + 0.1 * sum(rewards)
        if i % 10 == 9:
            print("episode %d\treward %.2f\taverage %.4f" % (i + 1, sum(rewards), avg))
    torch.save(policy.state_dict(), "policy.pt")


if __name__ == "__main__":
    main()
