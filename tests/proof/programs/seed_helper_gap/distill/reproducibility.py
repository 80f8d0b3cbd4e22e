import os
import random

import torch


def seed_everything(seed: int = 42) -> int:
    """Makes the run reproducible."""
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.backends.cudnn.deterministic = True
    return seed
