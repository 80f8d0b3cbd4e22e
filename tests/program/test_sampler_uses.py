"""Where a sampler goes: what holds it, what iterates it, and where it escapes."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.loading.sampler_uses import SamplerUses, uses_of

HEAD = "from torch.utils.data import BatchSampler, DataLoader, DistributedSampler\n"


def uses(folder: Path, text: str, data: str = "") -> SamplerUses:
    """Follow the sampler that is made in data.py, if there is one, else in train.py."""
    project = SmallProject(folder, {"train.py": HEAD + text, "data.py": HEAD + data})
    node, scope = project.call("DistributedSampler", "data.py" if data else "train.py")
    return uses_of(node, scope, project.program)


def iterated(found: SamplerUses) -> list[str]:
    return [ast.unparse(node) for node, _ in found.iterated]


MADE = "DataLoader(d, sampler=DistributedSampler(d))"
PROGRAMS = {
    "keyword": """
        def f(d):
            s = DistributedSampler(d)
            use(DataLoader(d, sampler=s))
    """,
    "position": """
        def f(d):
            use(DataLoader(d, 8, False, DistributedSampler(d)))
    """,
    "list and batch sampler": """
        def f(d):
            x = [BatchSampler(DistributedSampler(d), 2, True)]
            use(DataLoader(d, batch_sampler=x[0]))
    """,
    "known dict": """
        def f(d):
            k = {"sampler": DistributedSampler(d)}
            use(DataLoader(d, **k))
    """,
    "updated dict": """
        def f(d):
            k = dict(sampler=DistributedSampler(d))
            j = {}
            j.update(k)
            use(DataLoader(d, **j))
    """,
    "tuple returned": f"""
        def g(d):
            return d, {MADE}

        def f(d):
            _, x = g(d)
            use(x)
    """,
    "dict returned": f"""
        def g(d):
            return {{"train": {MADE}}}

        def f(d):
            both = g(d)
            use(both["train"])
    """,
    "attribute": f"""
        class T:
            def __init__(self, d):
                self.x = {MADE}

            def run(self):
                use(self.x)
    """,
    "method of a known instance": f"""
        class T:
            def make(self, d):
                return {MADE}

        def f(d):
            t = T()
            use(t.make(d))
    """,
    "data class": f"""
        from dataclasses import dataclass

        @dataclass
        class D:
            loader: object
            size: int = 0

        def f(d):
            x = D({MADE})
            use(x.loader)
    """,
    "subclass": """
        class L(DataLoader):
            pass

        def f(d):
            use(L(d, sampler=DistributedSampler(d)))
    """,
    "keywords handed on": """
        class P:
            def __init__(self, **kwargs):
                self.x = DataLoader(**kwargs)

            def run(self):
                use(self.x)

        def f(d):
            P(dataset=d, sampler=DistributedSampler(d))
    """,
    "loop over a container": f"""
        def f(d):
            x = {{"train": {MADE}}}
            for i, (name, loader) in enumerate(x.items()):
                use(loader)
            for key in x:
                print(d[key])
    """,
    "tuple of another branch": f"""
        def g(d, both):
            if both:
                return d, {MADE}
            return d

        def f(d):
            _, x = g(d, True)
            use(x)
            one = g(d, False)
            for image, label in enumerate(one):
                pass
    """,
    "comprehension": """
        def f(d):
            s = {k: DistributedSampler(d[k]) for k in d}
            x = {k: DataLoader(d[k], sampler=s[k]) for k in d}
            use(x["train"])
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_loader_is_seen_to_be_iterated(tmp_path: Path, program: str) -> None:
    text = textwrap.dedent(program) + "\ndef use(loader):\n    for batch in loader: pass\n"
    found = uses(tmp_path, text)
    assert not found.escaped
    assert iterated(found) == ["loader"]


def test_a_value_is_followed_across_files(tmp_path: Path) -> None:
    found = uses(
        tmp_path,
        "from data import build\ndef fit(loader):\n    for b in loader: pass\n"
        "def main(d):\n    train, _ = build(d)\n    fit(train)\n",
        data="def build(d):\n    return DataLoader(d, sampler=DistributedSampler(d)), None\n",
    )
    assert iterated(found) == ["loader"]
    assert {h.name for h in found.holders} == {"train", "loader"}
    assert {Path(f).name for f in found.files} == {"data.py", "train.py"}


def test_a_module_variable_is_read_in_other_files(tmp_path: Path) -> None:
    found = uses(
        tmp_path,
        "import data\nfrom data import loader as other\ndef main():\n    for b in data.loader: pass\n"
        "    for b in other: pass\n",
        data="loader = DataLoader(d, sampler=DistributedSampler(d))\n",
    )
    assert iterated(found) == ["data.loader", "other"]


def test_the_methods_that_are_called_are_noted(tmp_path: Path) -> None:
    found = uses(tmp_path, "l = DataLoader(d, sampler=DistributedSampler(d))\nl.sampler.set_epoch(1)\nl.dataset\n")
    assert set(found.attributes) == {"set_epoch", "dataset"}
    assert [h.chain for h in found.holders] == [("sampler",)]


@pytest.mark.parametrize(
    "text",
    [
        "trainer.fit(DataLoader(d, sampler=DistributedSampler(d)))\n",
        "args.sampler = DistributedSampler(d)\n",
        "from pkg import Trainer\nTrainer(DistributedSampler(d))\n",
        "def f(*args): pass\nf(DistributedSampler(d))\n",
        "run(lambda: DistributedSampler(d))\n",
        "x = {*a, DistributedSampler(d)}\n",
    ],
)
def test_a_value_that_goes_out_of_sight_has_escaped(tmp_path: Path, text: str) -> None:
    assert uses(tmp_path, text).escaped


def test_looking_is_not_escaping(tmp_path: Path) -> None:
    text = (
        "import logging\ns = DistributedSampler(d)\nprint(len(s), s is None)\nlogging.info(s)\n"
        "log.info('%s', s)\nif s and isinstance(s, object): pass\nassert s\nf'{s}'\n"
    )
    found = uses(tmp_path, text)
    assert not found.escaped
    assert not found.iterated
