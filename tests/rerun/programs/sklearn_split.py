# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
# needs: sklearn
import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
data = np.arange(128, dtype=np.float32).reshape(16, 8) / 128
train, test = train_test_split(data, test_size=0.25)
x = torch.from_numpy(train)  # cause 1
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
