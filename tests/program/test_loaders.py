"""What a call of a loader or sampler says of shuffling, generators and workers."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.dataflow.calls import Call
from torchrepro_lint.dataflow.conditions import is_dead
from torchrepro_lint.dataflow.enclosing import outermost_loop
from torchrepro_lint.loading.loaders import (
    lacks_generator,
    lacks_worker_init,
    loaders,
    samplers,
    shuffling,
    workers,
)
from torchrepro_lint.model import Certainty
from torchrepro_lint.project.unknown import UNKNOWN

HEAD = "import torch\nfrom torch.utils.data import *\n"


def call(folder: Path, text: str, kind: str = "loaders") -> Call:
    """The last loader, or sampler, that is called."""
    project = SmallProject(folder, {"train.py": HEAD + text})
    return project.module().calls((loaders() if kind == "loaders" else samplers()).keys())[-1]


SHUFFLING = {
    "DataLoader(d)": None,
    "DataLoader(d, shuffle=True)": Certainty.CERTAIN,
    "DataLoader(d, 4, True)": Certainty.CERTAIN,
    "DataLoader(d, 4, False)": None,
    "DataLoader(d, shuffle=None)": None,
    "DataLoader(d, shuffle=args.shuffle)": Certainty.LIKELY,
    "DataLoader(d, shuffle=not args.ordered)": Certainty.LIKELY,
    "DataLoader(d, shuffle=not True)": None,
    "DataLoader(d, shuffle=False and args.shuffle)": None,
    "DataLoader(d, shuffle=True or args.shuffle)": Certainty.CERTAIN,
    "yes = True\nDataLoader(d, shuffle=yes)": Certainty.CERTAIN,
    "DataLoader(d, sampler=s(d))": None,
    "DataLoader(d, batch_sampler=s(d), shuffle=args.shuffle)": None,
    "DataLoader(d, sampler=None, shuffle=True)": Certainty.CERTAIN,
    "s = DistributedSampler(d) if args.ddp else None\nDataLoader(d, shuffle=s is None, sampler=s)": Certainty.LIKELY,
    "s = DistributedSampler(d)\nDataLoader(d, shuffle=(s is None), sampler=s)": None,
    "def f(s=None):\n    return DataLoader(d, shuffle=s is None, sampler=s)": Certainty.LIKELY,
    "def f(shuffle):\n    return DataLoader(d, shuffle=shuffle)\nf(False)": None,
    "def f(shuffle):\n    return DataLoader(d, shuffle=shuffle)\nf(False)\nf(True)": Certainty.LIKELY,
    "k = dict(shuffle=True)\nDataLoader(d, **k)": Certainty.CERTAIN,
    "k = {'shuffle': True} if args.gpu else {}\nDataLoader(d, **k)": Certainty.CERTAIN,
    "k = {}\nk.update({'shuffle': True})\nDataLoader(d, **k)": Certainty.CERTAIN,
    "k = {}\nk.update(more)\nDataLoader(d, **k)": None,
    "def f(**k):\n    return DataLoader(d, **k)": None,
    "DataLoader(*args, shuffle=True)": Certainty.LIKELY,
    "class L(DataLoader):\n    pass\nL(d, shuffle=True)": Certainty.CERTAIN,
}


@pytest.mark.parametrize(("text", "expected"), SHUFFLING.items(), ids=range(len(SHUFFLING)))
def test_whether_a_loader_shuffles(text: str, expected: Certainty | None, tmp_path: Path) -> None:
    assert shuffling(call(tmp_path, text)) is expected


GENERATORS = {
    "random_split(d, [1, 2])": True,
    "random_split(d, [1, 2], None)": True,
    "random_split(d, [1, 2], generator=torch.default_generator)": True,
    "random_split(d, [1, 2], g)": False,
    "RandomSampler(d, False, None, g)": False,
    "SubsetRandomSampler(i, g)": False,
    "SubsetRandomSampler(i)": True,
    "WeightedRandomSampler(w, 10, generator=torch.Generator())": False,
    "RandomSampler(d, **kwargs)": False,
    "RandomSampler(*args)": False,
    "def f(g=None):\n    return RandomSampler(d, generator=g)\nf()": True,
    "def f(g=None):\n    return RandomSampler(d, generator=g)": False,
}


@pytest.mark.parametrize(("text", "expected"), GENERATORS.items(), ids=range(len(GENERATORS)))
def test_whether_a_sampler_lacks_a_generator(text: str, expected: bool, tmp_path: Path) -> None:
    assert lacks_generator(call(tmp_path, text, "samplers")) is expected


WORKERS = {
    "DataLoader(d)": (False, True),
    "DataLoader(d, num_workers=0)": (False, True),
    "DataLoader(d, num_workers=4)": (True, True),
    "DataLoader(d, num_workers=args.workers)": (None, True),
    "DataLoader(d, 4, True, None, None, 2)": (True, True),
    "DataLoader(d, num_workers=4, worker_init_fn=None)": (True, True),
    "DataLoader(d, num_workers=4, worker_init_fn=seed)": (True, False),
    "DataLoader(d, num_workers=4, **kwargs)": (False, False),
    "DataLoader(d, num_workers=4, worker_method='thread')": (False, True),
    "import monai.data\nmonai.data.DataLoader(d, 4)": (True, False),
    "import monai.data\nmonai.data.ThreadDataLoader(d, num_workers=4)": (False, False),
}


@pytest.mark.parametrize(("text", "expected"), WORKERS.items(), ids=range(len(WORKERS)))
def test_whether_a_loader_has_workers_and_seeds_them(
    text: str, expected: tuple[bool | None, bool], tmp_path: Path
) -> None:
    loader = call(tmp_path, text)
    assert (workers(loader), lacks_worker_init(loader)) == expected


def test_where_a_call_stands(tmp_path: Path) -> None:
    text = """
if True:
    x = 1
else:
    DataLoader(dead)
for fold in folds:
    while fold:
        DataLoader(looped)
    def f():
        DataLoader(once)
"""
    project = SmallProject(tmp_path, {"train.py": HEAD + text})
    facts = project.facts()
    found = project.module().calls(loaders().keys())
    assert [is_dead(c.node, c.scope) for c in found] == [True, False, False]
    loops = [outermost_loop(facts, c.node) for c in found]
    assert [loop.lineno if loop else None for loop in loops] == [None, 8, None]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("DataLoader(d, num_workers=2)", 2),
        ("DataLoader(d)", 0),
        ("DataLoader(d, num_workers=None)", None),
        ("DataLoader(d, **options)", UNKNOWN),
        ("DataLoader(*arguments)", UNKNOWN),
    ],
)
def test_a_number_that_unread_options_may_hold_is_not_known(text: str, number: object, tmp_path: Path) -> None:
    assert call(tmp_path, text).literal("num_workers", 5, default=0) == number
