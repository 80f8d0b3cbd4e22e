"""What the workers of a loader draw from, as far as it can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.loading import worker_calls
from torchrepro_lint.loading.loaders import loaders
from torchrepro_lint.loading.worker_draws import WorkerDraws, worker_draws
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.unseeded import unseeded

HEAD = """
import random
import albumentations as A
import monai.transforms as M
import numpy as np
import torch
from torch.utils.data import *
from torchvision import datasets, transforms as T
"""


def draws(folder: Path, text: str) -> WorkerDraws:
    """Those of the first loader."""
    project = SmallProject(folder, {"train.py": HEAD + text})
    return worker_draws(project.module().calls(loaders().keys())[0])


def data(body: str, made: str = "D()") -> str:
    """A program with a data set whose `__getitem__` returns `body`."""
    return f"class D(Dataset):\n    def __getitem__(self, i):\n        return {body}\nDataLoader({made}, num_workers=2)"


CLASS = """
class D(Dataset):
    def __init__(self, t):
        self.t = t
        self.rng = {rng}

    def __getitem__(self, i):
        {body}

DataLoader(D(None), num_workers=2)
"""

KINDS = {
    "nothing": (data("self.x[i]"), []),
    "torch": (data("torch.rand(3)"), []),
    "numpy": (data("np.random.rand()"), ["numpy"]),
    "python": (data("random.choice(self.x)"), ["python"]),
    "helper": ("def f(x):\n    return x * random.random()\n" + data("f(self.x[i])"), ["python"]),
    "split": (data("np.random.rand()", "random_split(D(), [1, 2])"), ["numpy"]),
    "joined": (data("np.random.rand()", "ConcatDataset([D(), D()])"), ["numpy"]),
    "collate": ("DataLoader(TensorDataset(x), collate_fn=lambda b: random.sample(b, 2))", ["python"]),
    "transforms": (
        "t = T.Compose([T.RandomCrop(3), T.Lambda(lambda x: x + np.random.rand())])\n"
        "DataLoader(datasets.MNIST('d', transform=t))",
        ["numpy"],
    ),
    "torch transforms": ("DataLoader(datasets.MNIST('d', transform=T.Compose([T.RandomCrop(3)])))", []),
    "held": (CLASS.format(rng="np.random.default_rng(0)", body="return self.rng.normal()"), ["held"]),
    "held python": (CLASS.format(rng="random.Random(0)", body="return self.rng.random()"), ["held"]),
    "reseeded": (CLASS.format(rng="random.Random(0)", body="self.rng.seed(i); return self.rng.random()"), []),
    "made for each item": (
        CLASS.format(rng="None", body="self.rng = np.random.default_rng(i); return self.rng.normal()"),
        [],
    ),
    "local": (CLASS.format(rng="None", body="return np.random.default_rng(i).normal()"), []),
    "module": ("rng = np.random.default_rng(0)\n" + data("rng.normal()"), ["held"]),
    "albumentations": ("t = A.Compose([A.HorizontalFlip()])\n" + data("t(image=self.x[i])"), ["own"]),
    "seeded albumentations": ("t = A.Compose([A.HorizontalFlip()], seed=1)\n" + data("t(image=self.x[i])"), []),
    "plain albumentations": ("t = A.Compose([A.Resize(2, 2)])\n" + data("t(image=self.x[i])"), []),
    "boxes of imgaug": (
        "from imgaug.augmentables.bbs import BoundingBoxesOnImage\n" + data("BoundingBoxesOnImage(self.x[i])"),
        [],
    ),
    "imgaug": (
        "import imgaug.augmenters as iaa\nt = iaa.Sequential([iaa.Fliplr(0.5)])\n" + data("t(self.x[i])"),
        ["own"],
    ),
    "function of albumentations": (
        "import albumentations.augmentations.functional as AF\n" + data("AF.random_flip_of(self.x[i])"),
        [],
    ),
    "monai": ("t = M.Compose([M.LoadImage(), M.RandFlip()])\n" + data("t(self.x[i])"), ["own"]),
    "plain monai": ("t = M.Compose([M.LoadImage()])\n" + data("t(self.x[i])"), []),
}


@pytest.mark.parametrize(("text", "kinds"), KINDS.values(), ids=KINDS)
def test_the_kinds_of_draws_that_are_found(text: str, kinds: list[str], tmp_path: Path) -> None:
    found = draws(tmp_path, text)
    assert sorted({d.kind for d in found.found}) == kinds
    assert not found.unseen


UNSEEN = {
    "unknown": "DataLoader(load(), num_workers=2)",
    "parameter": "def f(data):\n    return DataLoader(data, num_workers=2)",
    "external base": "class D(library.Images):\n    pass\nDataLoader(D(), num_workers=2)",
    "external transform": "import lib\nDataLoader(datasets.MNIST('d', transform=lib.make_transform()), num_workers=2)",
}


@pytest.mark.parametrize("text", UNSEEN.values(), ids=UNSEEN)
def test_what_cannot_be_followed_is_unseen(text: str, tmp_path: Path) -> None:
    found = draws(tmp_path, text)
    assert found.unseen
    assert found.found == ()


def test_two_data_sets_of_one_class_are_told_apart(tmp_path: Path) -> None:
    text = """
class D(Dataset):
    def __init__(self, t):
        self.t = t

    def __getitem__(self, i):
        return self.t(self.x[i])

def noise(x):
    return x + np.random.rand()

def same(x):
    return x

DataLoader(D(noise), num_workers=2)
DataLoader(D(t=same), num_workers=2)
"""
    project = SmallProject(tmp_path, {"train.py": HEAD + text})
    found = [worker_draws(c) for c in project.module().calls(loaders().keys())]
    assert [[d.kind for d in f.found] for f in found] == [["numpy"], []]


def test_a_method_that_sets_an_attribute_later_is_not_given_what_the_constructor_is(tmp_path: Path) -> None:
    text = """
class D(Dataset):
    def __init__(self, t):
        self.noisy = t

    def use(self, t):
        self.t = t

    def __getitem__(self, i):
        return self.t(self.x[i])

def noise(x):
    return x + np.random.rand()

def same(x):
    return x

data = D(t=noise)
data.use(same)
DataLoader(data, num_workers=2)
"""
    assert draws(tmp_path, text).found == ()


def test_whose_attribute_a_held_generator_is(tmp_path: Path) -> None:
    found = draws(tmp_path, CLASS.format(rng="np.random.default_rng(0)", body="return self.rng.normal()"))
    draw = found.first("held")
    assert draw is not None
    assert (draw.attribute, draw.owner, draw.is_per_item) == ("rng", found.dataset, True)


def test_transforms_that_hold_each_other_end(tmp_path: Path) -> None:
    text = "a = [b]\nb = [a]\nDataLoader(datasets.MNIST('d', transform=T.Compose(a)), num_workers=2)"
    assert draws(tmp_path, text).found == ()


def test_a_search_that_is_given_up_has_not_seen_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = "".join(f"def f{n}(x):\n    return f{n + 1}(x)\n" for n in range(9)) + "def f9(x):\n    return x\n"
    assert not draws(tmp_path / "all", chain + data("f0(self.x[i])")).unseen
    monkeypatch.setattr(worker_calls, "MAX_CALLS", 5)
    assert draws(tmp_path / "some", chain + data("f0(self.x[i])")).unseen


@pytest.mark.parametrize(
    ("workers", "torch", "families"),
    [(2, None, {"torch"}), (0, None, {"torch", "numpy"}), (2, "1.8", {"torch", "numpy"})],
)
def test_a_program_draws_by_torch_what_its_workers_draw(
    workers: int, torch: str | None, families: set[str], tmp_path: Path
) -> None:
    """Since 1.9 each worker seeds numpy with a number that torch drew: there is nothing else to be seeded."""
    text = f"""
class D(Dataset):
    def __getitem__(self, i):
        return np.random.rand(4)
model = torch.nn.Linear(4, 2)
for x in DataLoader(D(), num_workers={workers}):
    model(x).sum().backward()
"""
    project = SmallProject(tmp_path, {"train.py": HEAD + text}, torch_version=torch)
    (seeding,) = seedings(project.facts(), project.program)
    found = unseeded(seeding, project.program)
    assert found is not None
    assert set(found.draws) == families
