import argparse
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader

from corpus import Reviews, collate


class BagOfWords(nn.Module):
    def __init__(self, vocab_size, dim=8):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab_size, dim)
        self.fc = nn.Linear(dim, 2)

    def forward(self, ids, offsets):
        return self.fc(self.embedding(ids, offsets))


def main(args):
    torch.manual_seed(args.seed)
    reviews = Reviews(args.data)
    loader = DataLoader(reviews, batch_size=6, collate_fn=collate)
    model = BagOfWords(len(reviews.stoi))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(1, 4):
        correct = total_loss = 0
        for ids, offsets, labels in loader:
            output = model(ids, offsets)
            loss = nn.functional.cross_entropy(output, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.item()
            correct += (output.argmax(1) == labels).sum().item()
        print(f"{epoch=} loss={total_loss:.6f} accuracy={correct / len(reviews):.3f}")
    torch.save({"model": model.state_dict(), "stoi": reviews.stoi}, "sentiment.pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=11)
    main(parser.parse_args())
