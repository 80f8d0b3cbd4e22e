import logging

import hydra
import numpy as np
import torch
from omegaconf import DictConfig
from torch import nn

log = logging.getLogger(__name__)


def demonstration(batch):
    """states of a cart and what the expert does there"""
    states = np.random.uniform(-1, 1, size=(batch, 4)).astype(np.float32)
    actions = (states @ np.array([0.3, 1.0, 2.0, 0.7], dtype=np.float32) > 0).astype(np.int64)
    mistakes = np.random.rand(batch) < 0.05
    return torch.from_numpy(states), torch.from_numpy(np.where(mistakes, 1 - actions, actions))


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: DictConfig) -> None:
    torch.manual_seed(cfg.seed)
    net = nn.Sequential(nn.Linear(4, cfg.model.width), nn.ReLU(), nn.Linear(cfg.model.width, 2))
    opt = torch.optim.Adam(net.parameters(), lr=cfg.optim.lr)
    for step in range(cfg.steps):
        s, a = demonstration(cfg.batch)
        loss = nn.functional.cross_entropy(net(s), a)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0:
            print(f"step {step} cloning loss {loss.item():.6f}")
    torch.save(net.state_dict(), "policy_net.pt")


if __name__ == "__main__":
    main()
