# expect: RANK
import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn


def join(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)


if len(sys.argv) > 1:  # the other rank, which is not observed: it has no PYTHONPATH
    join(1, sys.argv[1])
    for _ in range(3):
        dist.all_reduce(torch.tensor([float.fromhex(os.urandom(4).hex())]))
    sys.exit()

torch.manual_seed(0)
with tempfile.TemporaryDirectory() as folder:
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    other = subprocess.Popen([sys.executable, __file__, folder], env=bare)
    join(0, folder)
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    for _ in range(3):
        total = torch.ones(1)
        dist.all_reduce(total)
        loss = model(total * 2).pow(2).mean()  # cause 1
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    other.wait()
    dist.destroy_process_group()
