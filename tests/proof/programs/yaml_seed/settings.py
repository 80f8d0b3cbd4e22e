import argparse
import random

import numpy as np
import torch
import yaml


def read_settings():
    parser = argparse.ArgumentParser(description="forecast a noisy wave")
    parser.add_argument("--config", default="configs/wave.yaml")
    with open(parser.parse_args().config) as file:
        return yaml.safe_load(file)


def fix_seed(seed):
    if seed is None:
        return
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
