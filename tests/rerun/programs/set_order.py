# expect: EXTERNAL source=hash shown_by=hash rule=TRP205
import torch
from torch import nn

torch.manual_seed(0)
words = "the cat sat on the mat while a dog lay by the old red door".split()
vocabulary = {word: number for number, word in enumerate(set(words))}
ids = torch.tensor([vocabulary[word] for word in words])  # cause 1
table = nn.Embedding(len(vocabulary), 8)
model = nn.Sequential(table, nn.Linear(8, 1))
x = ids
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
