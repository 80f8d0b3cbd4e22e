# expect: OPERATION operation=aten::index_put_ deterministic=agrees
import torch
from torch import nn


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.size = len(table)
        return table.index_select(0, index)

    @staticmethod
    def backward(ctx, grad):
        (index,) = ctx.saved_tensors
        total = grad.new_zeros(ctx.size)
        return total.index_put_((index,), grad, accumulate=True), None  # cause 1


torch.manual_seed(0)
torch.set_num_threads(8)
table = nn.Parameter(torch.randn(1000))
index = torch.randint(0, 1000, (300_000,))
optimizer = torch.optim.SGD([table], lr=0.1)
for _ in range(3):
    loss = (Gather.apply(table, index) * torch.randn(300_000)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
