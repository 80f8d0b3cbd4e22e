"""What it costs to observe a program: the time of a step under light observers and under the tracer, against none.

    .venv/bin/python benchmarks/rerun.py                  # all three models
    .venv/bin/python benchmarks/rerun.py cnn --steps 40

Each run is a process of its own with one thread, and tells the processor time of its steps, which other work on the
machine disturbs least; the modes take turns. The targets: observers at most 1.15 times where a step takes 20 ms or
more, a traced step at most 3 times, and a stream at most 1 MB for 1,000 operations. The most memory that a process had
at a time must not grow with its steps: compare `--steps 1000` with fewer.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODES = ("none", "plain", "traced")
WARM = 3  # steps that are not counted


def models() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """A model and its input for each name."""
    import torch
    from torch import nn

    def mlp() -> tuple[Any, Any]:
        layers = [nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.1)] * 3
        return nn.Sequential(*layers, nn.Linear(512, 10)), torch.randn(256, 512)

    def cnn() -> tuple[Any, Any]:
        blocks = [nn.Sequential(nn.Conv2d(n, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU()) for n in (3, 32, 32)]
        return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)), torch.randn(
            16, 3, 32, 32
        )

    def transformer() -> tuple[Any, Any]:
        layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        return nn.Sequential(nn.TransformerEncoder(layer, 4), nn.Linear(128, 10)), torch.randn(16, 64, 128)

    return {"mlp": mlp, "cnn": cnn, "transformer": transformer}


def train(name: str, steps: int) -> None:
    """Train in this process and print the milliseconds of the fastest step and of the median one, and the MiB that the
    process had at most."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, x = models()[name]()
    optimizer = torch.optim.AdamW(model.parameters())
    found = []
    for _ in range(WARM + steps):
        began = time.process_time()
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
        found.append(1000 * (time.process_time() - began))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(min(found[WARM:]), statistics.median(found[WARM:]), most)


def measured(name: str, mode: str, steps: int, folder: Path) -> tuple[float, float, float, float | None]:
    """Milliseconds of the fastest and of the median step, MiB at most, and the stream's bytes per operation."""
    from torchrepro_lint.rerun.launching import run

    command = [sys.executable, __file__, "--child", name, "--steps", str(steps)]
    if mode == "none":
        out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        size = None
    else:
        done = run(command, folder.parent, folder, {"mode": mode}, None)
        if done.status:
            raise SystemExit(done.tail())
        out = done.tail()
        data = (folder / "streams" / "main.jsonl").read_bytes()
        operations = data.count(b'["o",')
        size = len(data) / operations if operations else None
    best, median, most = map(float, out.split()[-3:])
    return best, median, most, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["mlp", "cnn", "transformer"])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        train(options.models[0], options.steps)
        return
    print(f"{'model':<12} {'mode':<8} {'fastest ms':>10} {'median ms':>10} {'times':>6} {'MiB':>6} {'bytes/op':>9}")
    for name in options.models:
        with tempfile.TemporaryDirectory() as scratch:
            rounds = [
                {m: measured(name, m, options.steps, Path(scratch) / f"{m}-{n}") for m in MODES}
                for n in range(options.rounds)
            ]
        base = min(found["none"][0] for found in rounds)
        for mode in MODES:
            best = min(found[mode][0] for found in rounds)
            median = statistics.median(found[mode][1] for found in rounds)
            most, size = max(found[mode][2] for found in rounds), rounds[0][mode][3]
            bytes_each = f"{size:.0f}" if size else "-"
            times = f"{best:>10.2f} {median:>10.2f} {best / base:>6.2f}"
            print(f"{name:<12} {mode:<8} {times} {most:>6.0f} {bytes_each:>9}", flush=True)


if __name__ == "__main__":
    main()
