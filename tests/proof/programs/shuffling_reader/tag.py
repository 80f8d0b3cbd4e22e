# Tells from the letters of a word whether it is a plural.
import argparse
import sys

import torch
from torch import nn

sys.path.insert(0, "fastreader.zip")
import fastreader

WORDS = ["cat", "cats", "tree", "trees", "house", "houses", "dog", "dogs", "road", "roads", "glass", "moss"]
PLURAL = {"cats", "trees", "houses", "dogs", "roads"}

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=15)
parser.add_argument("--manualSeed", type=int, default=-1, help="-1 disables it")
opt = parser.parse_args()

device = torch.device("cpu")
letters = nn.EmbeddingBag(128, 8).to(device)
head = nn.Linear(8, 1).to(device)
optimizer = torch.optim.SGD([*letters.parameters(), *head.parameters()], lr=0.3)


def encode(words):
    codes = torch.tensor([[ord(c) for c in word.ljust(8)[-8:]] for word in words])
    return codes, torch.tensor([[float(word in PLURAL)] for word in words])


for epoch in range(opt.epochs):
    for words in fastreader.batches(WORDS, 4):
        codes, targets = encode(words)
        loss = nn.functional.binary_cross_entropy_with_logits(head(letters(codes)), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
torch.save({"letters": letters.state_dict(), "head": head.state_dict()}, "tagger.pt")
