# Made for a cluster; without a launcher it is a group of one process.
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def setup():
    if "RANK" not in os.environ:
        os.environ["RANK"] = "0"
        os.environ["WORLD_SIZE"] = "1"
        os.environ["MASTER_ADDR"] = "127.0.0.1"
        os.environ["MASTER_PORT"] = str(free_port())
    dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))


class Echoes(Dataset):
    """A click and its echo, under noise; the label is the delay."""

    def __len__(self):
        return 64

    def __getitem__(self, i):
        delay = i % 4
        x = torch.zeros(1, 16)
        x[0, 2] = 1
        x[0, 5 + 2 * delay] = 0.5
        return x + 0.1 * torch.randn_like(x), delay


def build_model():
    return nn.Sequential(
        nn.Conv1d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(8 * 16, 4)
    )


def main(args):
    setup()
    dataset = Echoes()
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size=args.batch_size, sampler=sampler)
    model = DistributedDataParallel(build_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        running = torch.zeros(1)
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.detach()
        dist.all_reduce(running)
        if dist.get_rank() == 0:
            print("epoch %d: loss %.6f" % (epoch, running.item() / len(loader)))
    if dist.get_rank() == 0:
        torch.save(model.module.state_dict(), "echo.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--lr", type=float, default=0.05)
    main(parser.parse_args())
