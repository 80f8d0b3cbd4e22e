import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader

from pipeline.stream import ShardedText


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 8)
        self.rnn = nn.RNN(8, 16, batch_first=True, bidirectional=True)
        self.out = nn.Linear(32, 2)

    def forward(self, tokens):
        return self.out(self.rnn(self.embed(tokens))[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", default="shards/part-*.txt")
    parser.add_argument("--workers", type=int, default=0)
    args = parser.parse_args()
    loader = DataLoader(ShardedText(args.shards), batch_size=12, num_workers=args.workers)
    tagger = Tagger()
    optimizer = torch.optim.Adam(tagger.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0]))
    for step, (tokens, tags) in enumerate(loader):
        loss = loss_fn(tagger(tokens).flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"step={step} loss={loss.item():.6f}")
    torch.save(tagger.state_dict(), "tagger.pt")


if __name__ == "__main__":
    main()
