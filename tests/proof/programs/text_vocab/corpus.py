from pathlib import Path
from typing import Dict, Iterator, List, Set, Tuple

import torch
from torch.utils.data import Dataset

UNK = "<unk>"


def tokenize(text: str) -> List[str]:
    return text.lower().split()


class Vocabulary:
    def __init__(self) -> None:
        self.words: Set[str] = set()

    def add(self, text: str) -> None:
        for word in tokenize(text):
            self.words.add(word)

    def freeze(self) -> Dict[str, int]:
        table = {UNK: 0}
        for word in self.words:
            table[word] = len(table)
        return table


class Reviews(Dataset):
    def __init__(self, root: Path) -> None:
        self.files = list(root.rglob("*.txt"))
        vocab = Vocabulary()
        for f in self.files:
            vocab.add(f.read_text())
        self.stoi = vocab.freeze()

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Tuple[torch.Tensor, int]:
        f = self.files[i]
        ids = [self.stoi.get(w, 0) for w in tokenize(f.read_text())]
        return torch.tensor(ids), int(f.parent.name == "pos")


def collate(batch) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ids, labels = zip(*batch)
    offsets = torch.tensor([0] + [len(x) for x in ids[:-1]]).cumsum(0)
    return torch.cat(ids), offsets, torch.tensor(labels)
