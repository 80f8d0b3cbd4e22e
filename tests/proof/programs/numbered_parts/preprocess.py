import os

import numpy as np


def windows(track, size=12, step=6):
    return np.stack([track[i:i + size] for i in range(0, len(track) - size, step)])


def preprocess(raw_dir, out_dir):
    """Cuts each recording into windows, and writes them as part0.npy, part1.npy, ..."""
    os.makedirs(out_dir, exist_ok=True)
    count = 0
    for i, name in enumerate(os.listdir(raw_dir)):
        track = np.loadtxt(os.path.join(raw_dir, name), delimiter=",", dtype=np.float32)
        track = (track - track.mean(axis=0)) / (track.std(axis=0) + 1e-6)
        np.save(os.path.join(out_dir, f"part{i}"), windows(track))
        count += 1
    return count
