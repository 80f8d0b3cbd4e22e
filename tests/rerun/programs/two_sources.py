# expect: EXTERNAL source=hash shown_by=hash
# expect: EXTERNAL source=listing shown_by=listing
# options: --shuffle-listing
import os
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(0)
folder = Path("samples")
folder.mkdir(exist_ok=True)
for number in range(9):
    (folder / f"{number}.txt").write_text(str(number))
names = os.listdir(folder)
words = list({"ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis"})
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
for name, word in zip(names, words):
    x = torch.tensor([float((folder / name).read_text()) + len(word)])
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
