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
lengths = [len(word) for word in {"a", "be", "cat", "door", "eight", "finger", "gardens", "homeless"}]
numbers = [int(name.removesuffix(".txt")) for name in names]
x = torch.tensor(numbers + lengths, dtype=torch.float32).reshape(1, -1)  # cause 1
model = nn.Linear(17, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
