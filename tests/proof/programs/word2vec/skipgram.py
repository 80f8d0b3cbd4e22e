import random
import sys
from collections import Counter

import numpy as np
import torch
import torch.nn as nn

WINDOW = 2
NEGATIVES = 4
DIM = 12
EPOCHS = 3


class Corpus:
    def __init__(self, path):
        with open(path) as f:
            self.sentences = [line.split() for line in f]
        counts = Counter(w for s in self.sentences for w in s)
        self.vocab = set(w for w, c in counts.items() if c > 1)
        self.id2word = dict(enumerate(self.vocab))
        self.word2id = {w: i for i, w in self.id2word.items()}
        freq = np.array([counts[self.id2word[i]] for i in range(len(self.id2word))], dtype=float)
        self.noise = freq ** 0.75 / (freq ** 0.75).sum()
        self.keep = np.minimum(1, np.sqrt(0.05 * freq.sum() / freq))

    def pairs(self):
        for sentence in self.sentences:
            ids = [self.word2id[w] for w in sentence if w in self.word2id]
            ids = [i for i in ids if random.random() < self.keep[i]]
            for pos, center in enumerate(ids):
                for context in ids[max(0, pos - WINDOW):pos] + ids[pos + 1:pos + 1 + WINDOW]:
                    negatives = np.random.choice(len(self.noise), NEGATIVES, p=self.noise)
                    yield center, context, negatives


class SkipGram(nn.Module):
    def __init__(self, vocab_size):
        super().__init__()
        self.u = nn.Embedding(vocab_size, DIM)
        self.v = nn.Embedding(vocab_size, DIM)
        nn.init.uniform_(self.u.weight, -0.5 / DIM, 0.5 / DIM)
        nn.init.zeros_(self.v.weight)

    def forward(self, center, context, negatives):
        u = self.u(center)
        good = nn.functional.logsigmoid(self.v(context) @ u)
        bad = nn.functional.logsigmoid(-self.v(negatives) @ u).sum()
        return -(good + bad)


def main(path):
    corpus = Corpus(path)
    model = SkipGram(len(corpus.vocab))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(EPOCHS):
        losses = []
        for center, context, negatives in corpus.pairs():
            loss = model(torch.tensor(center), torch.tensor(context), torch.from_numpy(negatives))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print("Epoch: %d, loss: %.6f" % (epoch, sum(losses) / len(losses)))
    torch.save(model.state_dict(), "w2v.pth")
    np.savez("vectors.npz", words=[corpus.id2word[i] for i in range(len(corpus.vocab))],
             vectors=model.u.weight.detach().numpy())


if __name__ == "__main__":
    main(sys.argv[1])
