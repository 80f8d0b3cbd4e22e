"""Where a value goes: what holds it, what iterates it, and where it is lost from sight."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.program.flow import Flow, follow

HEAD = "from torch.utils.data import BatchSampler, DataLoader, DistributedSampler\n"


def flow(folder: Path, text: str, **others: str) -> Flow:
    files = {f"{name}.py": HEAD + body for name, body in others.items()}
    project = SmallProject(folder, {"train.py": HEAD + text, **files})
    node, scope = project.call("DistributedSampler", next(
        name for name in ("data.py", "train.py") if name in {"train.py", *files} and "DistributedSampler(" in (
            folder / name).read_text()))  # fmt: skip
    return follow(project.program, node, scope)


def iterated(found: Flow) -> list[str]:
    return [ast.unparse(node) for node, _ in found.iterated]


@pytest.mark.parametrize(
    "text",
    [
        "def f(d):\n    s = DistributedSampler(d)\n    l = DataLoader(d, sampler=s)\n    for b in l: pass\n",
        "def f(d):\n    l = DataLoader(d, 8, False, DistributedSampler(d))\n    for b in l: pass\n",
        "def f(d):\n    x = [BatchSampler(DistributedSampler(d), 2, True)]\n"
        "    l = DataLoader(d, batch_sampler=x[0])\n    for b in l: pass\n",
        "def f(d):\n    k = {'sampler': DistributedSampler(d)}\n    l = DataLoader(d, **k)\n    for b in l: pass\n",
        "def f(d):\n    k = dict(sampler=DistributedSampler(d))\n    j = {}\n    j.update(k)\n"
        "    l = DataLoader(d, **j)\n    for b in l: pass\n",
        "def g(d):\n    return d, DataLoader(d, sampler=DistributedSampler(d))\n"
        "def f(d):\n    _, l = g(d)\n    for b in l: pass\n",
        "def g(d):\n    return {'train': DataLoader(d, sampler=DistributedSampler(d))}\n"
        "def f(d):\n    all = g(d)\n    l = all['train']\n    for b in l: pass\n",
        "class T:\n    def __init__(self, d):\n        self.l = DataLoader(d, sampler=DistributedSampler(d))\n"
        "    def run(self):\n        l = self.l\n        for b in l: pass\n",
        "class T:\n    def make(self, d):\n        return DataLoader(d, sampler=DistributedSampler(d))\n"
        "def f(d):\n    t = T()\n    l = t.make(d)\n    for b in l: pass\n",
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    loader: object\n    size: int = 0\n"
        "def f(d):\n    x = D(DataLoader(d, sampler=DistributedSampler(d)))\n    l = x.loader\n    for b in l: pass\n",
        "class L(DataLoader):\n    pass\n"
        "def f(d):\n    l = L(d, sampler=DistributedSampler(d))\n    for b in l: pass\n",
        "class P:\n    def __init__(self, **kwargs):\n        self.l = DataLoader(**kwargs)\n"
        "    def run(self):\n        l = self.l\n        for b in l: pass\n"
        "def f(d):\n    P(dataset=d, sampler=DistributedSampler(d))\n",
        "def f(d):\n    s = {k: DistributedSampler(d[k]) for k in d}\n"
        "    ls = {k: DataLoader(d[k], sampler=s[k]) for k in d}\n    l = ls['train']\n    for b in l: pass\n",
    ],
)
def test_the_loader_is_seen_to_be_iterated(tmp_path: Path, text: str) -> None:
    found = flow(tmp_path, text)
    assert not found.escaped
    assert iterated(found) == ["l"]


def test_across_files(tmp_path: Path) -> None:
    found = flow(
        tmp_path,
        "from data import build\ndef fit(loader):\n    for b in loader: pass\n"
        "def main(d):\n    train, _ = build(d)\n    fit(train)\n",
        data="def build(d):\n    return DataLoader(d, sampler=DistributedSampler(d)), None\n",
    )
    assert iterated(found) == ["loader"]
    assert {h.name for h in found.holders} == {"train", "loader"}
    assert {Path(f).name for f in found.files} == {"data.py", "train.py"}


def test_a_module_variable_is_read_in_other_files(tmp_path: Path) -> None:
    found = flow(
        tmp_path,
        "import data\nfrom data import loader as other\ndef main():\n    for b in data.loader: pass\n"
        "    for b in other: pass\n",
        data="loader = DataLoader(d, sampler=DistributedSampler(d))\n",
    )
    assert iterated(found) == ["data.loader", "other"]


def test_methods_are_noted(tmp_path: Path) -> None:
    found = flow(tmp_path, "l = DataLoader(d, sampler=DistributedSampler(d))\nl.sampler.set_epoch(1)\nl.dataset\n")
    assert set(found.called) == {"set_epoch", "dataset"}
    assert [h.chain for h in found.holders] == [("sampler",)]


@pytest.mark.parametrize(
    "text",
    [
        "trainer.fit(DataLoader(d, sampler=DistributedSampler(d)))\n",
        "args.sampler = DistributedSampler(d)\n",
        "from pkg import Trainer\nTrainer(DistributedSampler(d))\n",
        "def f(*args): pass\nf(DistributedSampler(d))\n",
        "f = lambda: DistributedSampler(d)\n",
        "x = {*a, DistributedSampler(d)}\n",
    ],
)
def test_it_escapes(tmp_path: Path, text: str) -> None:
    assert flow(tmp_path, text).escaped


def test_looking_is_not_escaping(tmp_path: Path) -> None:
    text = (
        "import logging\ns = DistributedSampler(d)\nprint(len(s), s is None)\nlogging.info(s)\n"
        "log.info('%s', s)\nif s and isinstance(s, object): pass\nassert s\nf'{s}'\n"
    )
    found = flow(tmp_path, text)
    assert not found.escaped
    assert not found.iterated
