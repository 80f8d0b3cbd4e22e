import argparse

import gymnasium as gym
import torch

from agent import Agent

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--env", default="CartPole-v1")
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=7)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    env = gym.make(args.env)
    agent = Agent(env)
    for episode in range(args.episodes):
        total = agent.play(eps=max(0.05, 0.5 - episode / 40))
        losses = [agent.learn() for _ in range(4)]
        if episode % 5 == 0:
            print(f"episode {episode}  return {total:.0f}  loss {sum(losses) / 4:.5f}")
    torch.save(agent.q.state_dict(), "q.pt")
