# expect: UNSEEDED generator=numpy shown_by=numpy rule=TRP101
# command: torchrun --nproc-per-node 2 {file}
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
for part in (model[0], model[2], model):
    fully_shard(part, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.as_tensor(np.random.rand(4, 8), dtype=torch.float32)  # cause 1
    loss = model(x + dist.get_rank()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
