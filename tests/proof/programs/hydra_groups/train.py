import hydra
import numpy as np
import torch
from omegaconf import DictConfig
from torch import nn


def seed_all(seed):
    if seed is not None:
        torch.manual_seed(seed)
        np.random.seed(seed)


class Pairs:
    """items, and which of two a user likes more"""

    def __init__(self, cfg):
        rng = np.random.default_rng(cfg.seed)
        self.items = torch.tensor(rng.normal(size=(cfg.size, cfg.features)), dtype=torch.float32)
        self.taste = torch.tensor(rng.normal(size=cfg.features), dtype=torch.float32)

    def batch(self, size):
        left, right = np.random.randint(0, len(self.items), size=(2, size))
        liked = (self.items[left] - self.items[right]) @ self.taste
        return self.items[left], self.items[right], (liked > 0).float()


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg: DictConfig) -> None:
    seed_all(cfg.seed)
    data = Pairs(cfg.data)
    score = nn.Sequential(nn.Linear(cfg.data.features, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(score.parameters(), lr=cfg.optim.lr)
    for step in range(cfg.steps):
        left, right, liked = data.batch(cfg.data.batch)
        loss = nn.functional.binary_cross_entropy_with_logits((score(left) - score(right)).squeeze(1), liked)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.6f}")
    torch.save(score.state_dict(), "ranker.pt")


if __name__ == "__main__":
    main()
