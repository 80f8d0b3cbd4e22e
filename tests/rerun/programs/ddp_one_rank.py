# expect: UNSEEDED generator=torch shown_by=torch rank=1
# command: torchrun --nproc-per-node 2 {file}
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if dist.get_rank() == 1:
    torch.seed()  # cause 1
for _ in range(4):
    loss = model(torch.randn(4, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
