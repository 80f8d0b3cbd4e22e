"""One trunk, two tasks: which half of the ring a point lies on, and how far out it lies."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 16
TASKS = {"side": 2, "distance": 3}


def ring(count):
    angle = torch.arange(count) * 0.37
    radius = 1 + (torch.arange(count) % 3) * 0.5
    points = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    return points, {"side": (points[:, 0] > 0).long(), "distance": torch.arange(count) % 3}


class MultiTask(nn.Module):
    def __init__(self, tasks, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(2, width), nn.ReLU())
        self.heads = nn.ModuleDict({task: nn.Linear(width, classes) for task, classes in tasks.items()})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def main():
    points, labels = ring(96)
    loaders, warmup = {}, []
    for task in TASKS:
        dataset = TensorDataset(points, labels[task])
        loaders[task] = DataLoader(dataset, batch_size=BATCH_SIZE, shuffle=True)
    for task in TASKS:
        few = TensorDataset(points[:24], labels[task][:24])
        warmup.append((task, DataLoader(few, batch_size=8, shuffle=True)))

    model = MultiTask(TASKS)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for task, loader in warmup:
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x, task), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"warm-up of {task}: {loss.item():.5f}")
    for epoch in range(4):
        sums = dict.fromkeys(TASKS, 0.0)
        for batches in zip(*loaders.values()):
            losses = {}
            for task, (x, y) in zip(TASKS, batches):
                losses[task] = nn.functional.cross_entropy(model(x, task), y)
                sums[task] += losses[task].item()
            optimizer.zero_grad()
            sum(losses.values()).backward()
            optimizer.step()
        print("epoch", epoch, *[f"{task} {total:.5f}" for task, total in sums.items()])
    torch.save(model.state_dict(), "multitask.pt")


if __name__ == "__main__":
    main()
