"""Learns to tag pieces of music: the genre's tags are the classes of the genre's own head."""
import csv
from collections import defaultdict

import torch
import torch.nn as nn


def read_tracks(path):
    tracks, tags = [], defaultdict(set)
    with open(path, newline="") as f:
        for genre, names, features in csv.reader(f, delimiter="\t"):
            names = names.split(",")
            tags[genre].update(names)
            tracks.append((genre, names, [float(v) for v in features.split()]))
    return tracks, tags


class Tagger(nn.Module):
    def __init__(self, tags, width=12):
        super().__init__()
        self.class_to_idx = {}
        for genre, names in tags.items():
            self.class_to_idx[genre] = {name: i for i, name in enumerate(names)}
        self.body = nn.Sequential(nn.Linear(3, width), nn.Tanh())
        self.heads = nn.ModuleDict({genre: nn.Linear(width, len(names)) for genre, names in tags.items()})

    def forward(self, x, genre):
        return self.heads[genre](self.body(x))

    def target(self, genre, names):
        target = torch.zeros(len(self.class_to_idx[genre]))
        for name in names:
            target[self.class_to_idx[genre][name]] = 1
        return target


def main():
    torch.manual_seed(2)
    tracks, tags = read_tracks("tracks.tsv")
    model = Tagger(tags)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(8):
        total = 0.0
        for genre, names, features in tracks:
            loss = criterion(model(torch.tensor(features), genre), model.target(genre, names))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(tracks):.7f}")
    torch.save({"model": model.state_dict(), "classes": model.class_to_idx}, "tagger.pt")


if __name__ == "__main__":
    main()
