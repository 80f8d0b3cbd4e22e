# expect: INCONCLUSIVE
import torch

torch.manual_seed(0)
print(torch.nn.Linear(2, 2)(torch.ones(1, 2)))
