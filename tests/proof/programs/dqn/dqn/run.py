import argparse
import random

import numpy as np
import torch
import torch.nn as nn

from dqn.gridworld import GridWorld
from dqn.memory import ReplayMemory


def act(net, state, eps):
    if random.random() < eps:
        return random.randrange(4)
    with torch.no_grad():
        return net(torch.from_numpy(state)).argmax().item()


def learn(net, target, memory, optimizer, batch_size, gamma=0.95):
    batch = memory.sample(batch_size)
    states = torch.from_numpy(np.stack(batch.state))
    next_states = torch.from_numpy(np.stack(batch.next_state))
    actions, rewards, done = map(torch.tensor, (batch.action, batch.reward, batch.done))
    q = net(states).gather(1, actions[:, None])[:, 0]
    with torch.no_grad():
        best = target(next_states).max(1).values * ~done
    loss = nn.functional.smooth_l1_loss(q, rewards + gamma * best)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main(args):
    env, memory = GridWorld(), ReplayMemory(500)
    net, target = (nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)) for _ in range(2))
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
    loss = float("nan")
    for episode in range(args.episodes):
        state, done, score = env.reset(), False, 0
        while not done:
            action = act(net, state, eps=0.3)
            next_state, reward, done = env.step(action)
            memory.push(state, action, reward, next_state, done)
            state, score = next_state, score + reward
            if len(memory) >= args.batch_size:
                loss = learn(net, target, memory, optimizer, args.batch_size)
        target.load_state_dict(net.state_dict())
        print(f"episode {episode} score {score} loss {loss}")
    torch.save(net.state_dict(), "q.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--batch-size", type=int, default=16)
    main(parser.parse_args())
