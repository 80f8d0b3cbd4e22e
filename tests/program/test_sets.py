"""Which sets hold text, and where their items are taken."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import SmallProject

from torchrepro_lint.loading.sets import taken_from, text_sets
from torchrepro_lint.rng.texts import Evidence

HEAD = "import os\nfrom pathlib import Path\n"


def evidence(folder: Path, text: str) -> list[Evidence]:
    """For each set of text in the file."""
    project = SmallProject(folder, {"train.py": HEAD + text})
    return [s.evidence for s in text_sets(project.module(), project.program)]


def taken(folder: Path, text: str) -> list[str]:
    """What is written where items are taken from the first set of text."""
    project = SmallProject(folder, {"train.py": HEAD + text})
    held = next(text_sets(project.module(), project.program))
    sites = taken_from(held.made, project.program)
    return [s.scope.facts.text(s.scope.facts.parents[s.node]) for s in sites]


SURE = [
    "x = {'a', 'b'}",
    "x = {f'{i}' for i in y}",
    "x = set('abc')",
    "x = set(text.split())",
    "x = set(str(i) for i in y)",
    "x = set(map(str, y))",
    "x = frozenset(p.stem for p in y)",
    "x = set(os.listdir(d))",
    "x = {os.path.basename(p) for p in y}",
    "x = {(i, 'a') for i in y}",
    "y = ['a', 'b']\nx = set(y)",
    "y = 'abc'\nx = set(y)",
    "x = set()\nfor line in open(p):\n    x.add(line)",
    "x = set()\nx.update(line.strip().lower() for line in y)",
    "class A:\n    def __init__(self):\n        self.x = set()\n    def f(self, w):\n        self.x.add(w.lower())",
    "x = {p.name for p in Path(d).iterdir()}",
    "x = set(sorted(b.decode() for b in y))",
    "y = [(a.strip(), b.strip()) for a, b in z]\nx = set(zip(*y))",
    "x = {}\nfor line in y:\n    x.setdefault(line[0], set()).add(line.strip())",
    "from collections import defaultdict\nx = defaultdict(set)\nfor line in y:\n    x[line[0]].add(line.strip())",
    "x = {'word': set()}\nfor line in y:\n    x['word'].add(line.strip())",
    "d = {}\nfor line in y:\n    d[line.strip()] = 1\nx = set(d)",
    "d = []\nfor line in y:\n    d.append(line.strip())\nx = set(d)",
    "from collections import Counter\nd = Counter()\nfor line in y:\n    d.update(line.split())\nx = set(d.keys())",
    "d = {}\nfor i, line in enumerate(y):\n    d[i] = line.strip()\nx = set(d.values())",
    "d = {}\nfor line in y:\n    d.setdefault(len(line), []).append(line.strip())\nx = set(d[4])",
]


@pytest.mark.parametrize("text", SURE)
def test_a_set_that_surely_holds_text(text: str, tmp_path: Path) -> None:
    assert evidence(tmp_path, text) == [Evidence.SURE]


NAMED = [
    "x = set(words)",
    "x = set(zip(words, range(9)))",
    "x = {row['name'] for row in y}",
    "from typing import List\ndef f(xs: List[str]):\n    return set(xs)",
    "from typing import Optional, Sequence\ndef f(xs: Optional[Sequence[str]] = None):\n    return set(xs)",
    "def f(xs: list[str] | None):\n    return set(xs)",
    "def f(xs: dict[str, int]):\n    return set(xs.keys())",
    "def f(xs: dict[int, str]):\n    return set(xs.values())",
    "from typing import Dict, Tuple\ndef f(xs: Dict[str, Tuple[str, str]]):\n    return set(xs.values())",
    "def f(xs: dict[int, list[str]]):\n    return set(xs[3])",
    "def f(xs: list[tuple[int, str]]):\n    return {x for x in xs}",
]


@pytest.mark.parametrize("text", NAMED)
def test_text_by_its_name(text: str, tmp_path: Path) -> None:
    assert evidence(tmp_path, text) == [Evidence.NAME]


NO_TEXT = [
    "x = set(d.keys())",
    "d = {}\nfor i in range(9):\n    d[i] = str(i)\nx = set(d)",
    "d = []\nfor i, line in enumerate(y):\n    d.append(i)\n    d.append(line.strip())\nx = set(d)",
    "x = {1, 2}",
    "x = set(range(3))",
    "x = set(labels)",
    "x = set(word_ids)",
    "x = {len(w) for w in words}",
    "x = set()",
    "x = set(x.tolist())",
    "y = [y]\ny = list(y)\nx = set(y)",
    "x = {'a', 1}",
    "def f(xs: list[int]):\n    return set(xs)",
    "def f(xs: dict[str, int]):\n    return set(xs.values())",
    "from typing import Optional\ndef f(xs: list[Optional[str]]):\n    return set(xs)",
    "def f(xs: list[list[str]]):\n    return {len(x) for x in xs}",
]


@pytest.mark.parametrize("text", NO_TEXT)
def test_not_known_to_be_text(text: str, tmp_path: Path) -> None:
    assert evidence(tmp_path, text) == []


def test_a_set_is_followed_to_where_its_items_are_taken(tmp_path: Path) -> None:
    text = """
x = {'a', 'b'}
y = x | other
z = y.union(more) if more else y
z.add('c')
print('a' in z)
w = list(z)
for item in frozenset(z):
    use(item)

def f(names):
    return tuple(names - {'c'})

f(x)
"""
    assert taken(tmp_path, text) == [
        "z.add",
        "'a' in z",
        "list(z)",
        "for item in frozenset(z):\n    use(item)",
        "tuple(names - {'c'})",
    ]


def test_a_list_of_that_name_is_no_set(tmp_path: Path) -> None:
    assert taken(tmp_path, "x = {'a', 'b'}\nprint(x[0])\nx = sorted(x)") == ["sorted(x)"]
