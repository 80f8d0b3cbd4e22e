# expect: DATA_ORDER source=listing shown_by=listing
# options: --shuffle-listing
import os
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(0)
folder = Path("samples")
folder.mkdir(exist_ok=True)
for number in range(12):
    (folder / f"{number}.txt").write_text(str(number))
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0001)
for name in os.listdir(folder):
    x = torch.tensor([float((folder / name).read_text())])  # cause 1
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
