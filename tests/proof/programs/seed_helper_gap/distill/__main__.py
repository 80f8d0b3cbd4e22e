import torch
from torch import nn
from torch.nn import functional as F

from . import seed_everything
from .batches import Batches


def network(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(10, width), nn.SiLU(), nn.Linear(width, 5))


def distill(teacher: nn.Module, student: nn.Module, temperature: float = 2.0) -> None:
    optimizer = torch.optim.SGD(student.parameters(), lr=0.5)
    teacher.eval()
    for step, x in enumerate(Batches(10, 32, 30)):
        with torch.no_grad():
            target = F.softmax(teacher(x) / temperature, dim=-1)
        loss = F.kl_div(F.log_softmax(student(x) / temperature, dim=-1), target, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if not step % 10:
            print(f"step {step:>3} kl {loss.item():.8f}")


if __name__ == "__main__":
    seed_everything()
    teacher, student = network(64), network(8)
    distill(teacher, student)
    torch.save(student.state_dict(), "student.pt")
