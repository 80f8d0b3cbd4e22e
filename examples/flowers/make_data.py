"""Draw a small data set of flower pictures: one folder per kind, one 16 x 16 RGB array per picture."""

import argparse
from pathlib import Path

import numpy as np

PETALS = {"clover": 3, "bluet": 4, "primrose": 5, "lily": 6, "anemone": 8}
SIZE = 16


def draw(petals, rng):
    """A flower seen from above: `petals` waves around a centre, in a random colour, turned and shifted."""
    y, x = np.mgrid[0:SIZE, 0:SIZE] / (SIZE - 1) * 2 - 1
    x, y = x + rng.uniform(-0.2, 0.2), y + rng.uniform(-0.2, 0.2)
    radius = 0.55 + 0.25 * np.cos(petals * np.arctan2(y, x) + rng.uniform(0, 2 * np.pi))
    petal = np.clip(8 * (radius - np.hypot(x, y)), 0, 1)
    colour = rng.uniform(0.3, 1.0, size=3)
    noise = rng.normal(0, 0.05, size=(3, SIZE, SIZE))
    return (colour[:, None, None] * petal + noise).astype(np.float32)


def make(root, per_kind=40):
    """Write `per_kind` pictures of each kind under `root`; the same ones every time."""
    rng = np.random.default_rng(2024)
    for kind, petals in PETALS.items():
        folder = Path(root, kind)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(per_kind):
            np.save(folder / f"{number:03}.npy", draw(petals, rng))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default="data")
    make(parser.parse_args().root)
