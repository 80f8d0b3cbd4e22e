"""Writes what a sensor might have recorded, a CSV file for each run."""
import os
import sys

import numpy as np


def main(folder):
    rng = np.random.RandomState(11)
    os.makedirs(folder, exist_ok=True)
    for run in ("idle", "walk", "climb", "cycle", "sprint", "rest", "row", "skip"):
        t = np.arange(60)
        speed = rng.uniform(0.1, 0.9)
        xyz = np.stack([np.sin(speed * t), np.cos(speed * t), speed + 0.05 * rng.randn(60)], axis=1)
        np.savetxt(os.path.join(folder, run + ".csv"), xyz, delimiter=",", fmt="%.5f")


main(sys.argv[1])
