"""A generated project for benchmarks: a library that many training programs share.

The library has layers, models, data sets and training loops, one a module, each built on earlier ones and imported by
its package; the programs use one of each, and every second one seeds. The same numbers give the same files. Knows
nothing of the linter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

LAYER = """\
import torch
from torch import nn
from torch.nn import functional as F
{import_layer}

class Layer{n}(nn.Module):
    \"\"\"A gated projection, mixed with what an earlier layer makes of the same input.\"\"\"

    def __init__(self, width: int, rate: float = 0.1) -> None:
        super().__init__()
        self.project = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.inner = {inner}
        self.rate = rate
        self.scale = nn.Parameter(torch.randn(width) / width)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.kaiming_uniform_(self.project.weight)
        nn.init.normal_(self.gate.weight, std=0.02)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        gated = torch.sigmoid(self.gate(inputs)) * self.project(inputs)
        mixed = gated + self.inner(inputs) * self.scale
        return F.dropout(mixed, self.rate, self.training)
"""

MODEL = """\
import torch
from torch import nn

from library.layers import Layer{first}, Layer{second}, Layer{third}


class Model{n}(nn.Module):
    \"\"\"Three layers and a head.\"\"\"

    def __init__(self, width: int = 64, classes: int = 10) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Layer{first}(width), Layer{second}(width), Layer{third}(width)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def features(self, inputs: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            inputs = self.norm(inputs + block(inputs))
        return inputs

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(inputs))


def model_{n}(width: int = 64, pretrained: str | None = None) -> Model{n}:
    model = Model{n}(width)
    if pretrained is not None:
        model.load_state_dict(torch.load(pretrained))
    return model
"""

DATA = """\
import os

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Dataset{n}(Dataset):
    \"\"\"Arrays of a folder, with noise and flips while training.\"\"\"

    def __init__(self, root: str, training: bool = True) -> None:
        self.files = sorted(os.path.join(root, name) for name in os.listdir(root))
        self.training = training

    def __len__(self) -> int:
        return len(self.files)

    def augment(self, array: np.ndarray) -> np.ndarray:
        if np.random.rand() < 0.5:
            array = array[::-1].copy()
        return array + 0.01 * np.random.randn(*array.shape)

    def __getitem__(self, index: int) -> torch.Tensor:
        array = np.load(self.files[index])
        array = self.augment(array) if self.training else array
        return torch.from_numpy(array)


def loader_{n}(root: str, batch_size: int, workers: int = 0, training: bool = True) -> DataLoader:
    return DataLoader(Dataset{n}(root, training), batch_size, shuffle=training, num_workers=workers)
"""

TRAINING = """\
import torch
from torch import nn
from torch.utils.data import DataLoader
{import_fit}

class Trainer{n}:
    \"\"\"Trains a model for some epochs, and keeps its state.\"\"\"

    def __init__(self, model: nn.Module, rate: float = 1e-3, device: str = "cuda") -> None:
        self.model = model.to(device)
        self.device = device
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        self.loss = nn.MSELoss()

    def step(self, batch: torch.Tensor) -> float:
        batch = batch.to(self.device)
        noisy = batch + 0.1 * torch.randn_like(batch)
        loss = self.loss(self.model(noisy), batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def epoch(self, loader: DataLoader) -> float:
        self.model.train()
        return sum(self.step(batch) for batch in loader) / len(loader)

    def save(self, path: str) -> None:
        torch.save({{"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}}, path)


def fit_{n}(model: nn.Module, loader: DataLoader, epochs: int, rate: float = 1e-3) -> Trainer{n}:
    trainer = Trainer{n}(model, rate)
{warm_up}    for epoch in range(epochs):
        print(epoch, trainer.epoch(loader))
    return trainer
"""

SEEDING = """\
import random

import numpy as np
import torch


def set_seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
"""

PROGRAM = """\
import argparse

from library import set_seed
from library.data import loader_{data}
from library.models import model_{models}
from library.training import fit_{training}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="data")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default={n})
    return parser.parse_args()


def main() -> None:
    options = parse()
{seed}    model = model_{models}()
    loader = loader_{data}(options.data, options.batch_size, options.workers)
    trainer = fit_{training}(model, loader, options.epochs)
    trainer.save("model-{n}.pt")


if __name__ == "__main__":
    main()
"""

# Each kind of module: its template, the names that it offers, and how many of a hundred modules are of this kind.
KINDS = {
    "layers": (LAYER, "Layer{n}", 40),
    "models": (MODEL, "Model{n}, model_{n}", 25),
    "data": (DATA, "Dataset{n}, loader_{n}", 20),
    "training": (TRAINING, "Trainer{n}, fit_{n}", 15),
}


def library(modules: int) -> Iterator[tuple[str, str]]:
    """The paths and texts of a library of `modules`, not counting its packages' `__init__.py`."""
    yield "library/__init__.py", SEEDING
    for kind, (template, names, percent) in KINDS.items():
        numbers = range(modules * percent // 100)
        for n in numbers:
            text = template.format(n=n, **_earlier(n), **_layers(n, modules * 40 // 100))
            yield f"library/{kind}/{kind}_{n}.py", text
        lines = [f"from library.{kind}.{kind}_{n} import {names.format(n=n)}\n" for n in numbers]
        yield f"library/{kind}/__init__.py", "".join(lines)


def _earlier(n: int) -> dict[str, str]:
    """How a module uses one that is half as far from the first, which uses none."""
    if not n:
        return {"import_layer": "", "inner": "nn.Identity()", "import_fit": "", "warm_up": ""}
    return {
        "import_layer": f"\nfrom library.layers.layers_{n // 2} import Layer{n // 2}\n",
        "inner": f"Layer{n // 2}(width)",
        "import_fit": f"\nfrom library.training.training_{n // 2} import fit_{n // 2}\n",
        "warm_up": f"    fit_{n // 2}(model, loader, 1, rate / 10)\n",
    }


def _layers(n: int, count: int) -> dict[str, int]:
    return {"first": n % count, "second": (3 * n + 1) % count, "third": (7 * n + 2) % count}


def program(n: int, modules: int) -> tuple[str, str]:
    """The path and text of a training script that uses a library of `modules`; those with an even number seed."""
    seed = "" if n % 2 else "    set_seed(options.seed)\n"
    used = {kind: n % (modules * percent // 100) for kind, (_, _, percent) in KINDS.items()}
    return f"examples/train_{n}.py", PROGRAM.format(n=n, seed=seed, **used)


def write(folder: Path, files: Iterable[tuple[str, str]]) -> None:
    """Put files into `folder`."""
    for path, text in files:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
