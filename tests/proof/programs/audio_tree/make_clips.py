import sys
from pathlib import Path

import numpy as np

root = Path(sys.argv[1])
rate = 400
t = np.arange(rate) / rate
for speaker in range(6):
    for word, pitch in {"yes": 20, "no": 31, "stop": 47}.items():
        folder = root / f"speaker{speaker}" / word
        folder.mkdir(parents=True, exist_ok=True)
        for take in range(3):
            clip = np.sin(2 * np.pi * (pitch + speaker + take / 3) * t) * np.exp(-3 * t)
            (clip * 32000).astype("<i2").tofile(folder / f"{take}.raw")
