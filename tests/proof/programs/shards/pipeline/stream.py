import glob
import itertools
import random

import torch
from torch.utils.data import IterableDataset, get_worker_info


def shuffle_buffer(items, size):
    buffer = list(itertools.islice(items, size))
    for item in items:
        i = random.randrange(len(buffer))
        buffer[i], item = item, buffer[i]
        yield item
    random.shuffle(buffer)
    yield from buffer


class ShardedText(IterableDataset):
    def __init__(self, pattern, buffer=16):
        self.shards = glob.glob(pattern)
        self.buffer = buffer

    def lines(self):
        info = get_worker_info()
        mine = self.shards if info is None else self.shards[info.id::info.num_workers]
        for shard in mine:
            with open(shard) as f:
                yield from f

    def __iter__(self):
        for line in shuffle_buffer(self.lines(), self.buffer):
            tokens = torch.tensor([int(t) for t in line.split()])
            tags = torch.zeros_like(tokens)
            tags[1:] = tokens[1:] == tokens[:-1]
            yield tokens, tags
