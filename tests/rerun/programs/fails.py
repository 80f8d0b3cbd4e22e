# expect: PROGRAM_FAILED
import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
model(torch.ones(4, 7)).sum().backward()
