import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from datautils import Planes


class Trainer:
    def __init__(self, model, train_data, optimizer, snapshot_path):
        self.rank = dist.get_rank()
        self.train_data = train_data
        self.optimizer = optimizer
        self.snapshot_path = snapshot_path
        self.model = DDP(model)

    def _run_batch(self, source, targets):
        self.optimizer.zero_grad()
        loss = F.mse_loss(self.model(source), targets)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def _run_epoch(self, epoch):
        losses = [self._run_batch(source, targets) for source, targets in self.train_data]
        if self.rank == 0:
            print(f"[rank0] Epoch {epoch} | Steps: {len(losses)} | Loss: {sum(losses) / len(losses):.6f}")

    def train(self, max_epochs):
        for epoch in range(max_epochs):
            self._run_epoch(epoch)
        if self.rank == 0:
            torch.save({"MODEL_STATE": self.model.module.state_dict()}, self.snapshot_path)


def prepare_dataloader(dataset, batch_size):
    return DataLoader(dataset, batch_size=batch_size, shuffle=False, sampler=DistributedSampler(dataset))


def main(epochs, batch_size):
    dist.init_process_group(backend="gloo")
    model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = prepare_dataloader(Planes(96), batch_size)
    Trainer(model, loader, optimizer, "snapshot.pt").train(epochs)
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="simple distributed training job")
    parser.add_argument("--epochs", default=10, type=int)
    parser.add_argument("--batch_size", default=8, type=int)
    args = parser.parse_args()
    main(args.epochs, args.batch_size)
