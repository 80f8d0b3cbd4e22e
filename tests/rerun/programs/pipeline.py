# expect: IDENTICAL
# command: torchrun --nproc-per-node 2 {file}
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
part = nn.Sequential(nn.Linear(8, 8), nn.ReLU()) if rank == 0 else nn.Linear(8, 1)
stage = PipelineStage(part, rank, 2, torch.device("cpu"))
schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss)
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    x = torch.randn(4, 8)
    schedule.step(*([x] if rank == 0 else []), **({} if rank == 0 else {"target": torch.zeros(4, 1)}))
    optimizer.step()
dist.destroy_process_group()
