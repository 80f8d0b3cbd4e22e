"""Keyword spotting on raw clips: python train_kws.py DIR"""
import os
import sys

import numpy as np
import torch

torch.manual_seed(5)

WORDS = ["yes", "no", "stop"]


def find_clips(root):
    clips = []
    for folder, _, files in os.walk(root):
        for name in files:
            if name.endswith(".raw"):
                clips.append(os.path.join(folder, name))
    return clips


def features(path):
    wave = np.fromfile(path, dtype="<i2").astype(np.float32) / 32768
    frames = torch.from_numpy(wave).unfold(0, 64, 32)
    return torch.log1p(torch.fft.rfft(frames * torch.hann_window(64)).abs())


class KWS(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(33, 12, 3)
        self.fc = torch.nn.Linear(12, len(WORDS))

    def forward(self, x):
        return self.fc(torch.relu(self.conv(x.transpose(1, 2))).mean(-1))


clips = find_clips(sys.argv[1])
x = torch.stack([features(c) for c in clips])
y = torch.tensor([WORDS.index(os.path.basename(os.path.dirname(c))) for c in clips])
split = int(0.8 * len(clips))
print(f"{split} clips for training, {len(clips) - split} for validation")

model = KWS()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for i in range(0, split, 8):
        loss = torch.nn.functional.cross_entropy(model(x[i:min(i + 8, split)]), y[i:min(i + 8, split)])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        val = torch.nn.functional.cross_entropy(model(x[split:]), y[split:])
    print(f"epoch {epoch}  loss {loss:.6f}  val {val:.6f}")
torch.save(model.state_dict(), "kws.pt")
