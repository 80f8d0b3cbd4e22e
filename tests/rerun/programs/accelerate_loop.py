# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
# needs: accelerate
import numpy as np
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(0)
data = torch.from_numpy(np.random.rand(16, 8)).float()  # cause 1
model = nn.Linear(8, 1)
accelerator = Accelerator(cpu=True)
model, optimizer, loader = accelerator.prepare(
    model, torch.optim.SGD(model.parameters(), lr=0.01), DataLoader(data, batch_size=4)
)
for batch in loader:
    loss = model(batch).pow(2).mean()
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
