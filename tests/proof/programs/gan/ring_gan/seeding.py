import logging
import random
import time

import numpy as np
import torch

log = logging.getLogger(__name__)


def fresh_seed():
    seed = time.time_ns() % 2**32
    log.info("random seed: %d", seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
