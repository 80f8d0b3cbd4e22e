"""The walk ends, soon, whatever a program does to itself, and is silent where it cannot know."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

LIMIT = 20  # seconds of CPU that a file may take; most take much less than one
TRAIN = "loss = torch.nn.Linear(4, 2)(torch.zeros(4)).sum()\n    loss.backward()"


def found(folder: Path, files: dict[str, str]) -> list[str]:
    """The findings of TRP101, TRP103 and of crashes, as path:line code; each file is checked within the limit."""
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / name).write_text(text)
    settings = {"select": ["TRP101", "TRP103", "TRP003"], "max-file-seconds": LIMIT}
    result = check(Request((folder,), SettingsResolver(cards.codes(), isolated=True, overrides=settings)))
    assert not result.problems
    return [f"{f.location.path}:{f.location.range.start.line} {f.code}" for f in result.findings]


def test_an_import_cycle_is_walked_once(tmp_path: Path) -> None:
    files = {
        "a.py": "import b\nimport torch\n\ntorch.manual_seed(0)\n",
        "b.py": "import c\n",
        "c.py": "import a\nimport torch\n\n\ndef train():\n    " + TRAIN + "\n",
        "train.py": "import a\nimport c\n\nif __name__ == '__main__':\n    c.train()\n",
    }
    assert found(tmp_path, files) == []
    (tmp_path / "a.py").write_text("import b\n")
    assert found(tmp_path, {}) == ["train.py:4 TRP101"]


def test_names_that_import_each_other(tmp_path: Path) -> None:
    files = {
        "a.py": "from b import make\n",
        "b.py": "from a import make\n",
        "train.py": "from a import make\n\nif __name__ == '__main__':\n    make().backward()\n",
    }
    assert found(tmp_path, files) == []


@pytest.mark.parametrize("seeds", [True, False])
def test_a_chain_of_500_modules(tmp_path: Path, seeds: bool) -> None:
    files = {f"m{i}.py": f"from m{i + 1} import last\n" for i in range(500)}
    files["m500.py"] = (
        "import torch\n\n\ndef last():\n    " + ("torch.manual_seed(0)\n    " if seeds else "") + TRAIN + "\n"
    )
    files["train.py"] = "import m0\n\nif __name__ == '__main__':\n    m0.last()\n"
    assert set(found(tmp_path, files)) <= ({"train.py:3 TRP101"} if not seeds else set())


def test_a_chain_of_500_calls(tmp_path: Path) -> None:
    calls = "".join(f"def f{i}():\n    f{i + 1}()\n\n\n" for i in range(500))
    text = f"import torch\n\n\n{calls}def f500():\n    {TRAIN}\n\n\nif __name__ == '__main__':\n    f0()\n"
    assert found(tmp_path, {"train.py": text}) == []  # deeper than the walk goes


PROGRAMS = {
    "recursion": "def train(n):\n    if n:\n        train(n - 1)\n    {train}\n",
    "mutual recursion": "def train(n):\n    other(n)\n    {train}\n\n\ndef other(n):\n    train(n - 1)\n",
    "a function that calls itself through a dict": (
        "def train(n):\n    STEPS['train'](n - 1)\n    {train}\n\n\nSTEPS = {{'train': train}}\n"
    ),
    "a lambda that calls itself": "again = lambda n: again(n - 1)\n\n\ndef train(n):\n    again(n)\n    {train}\n",
    "a class that makes itself": (
        "class Net:\n    def __init__(self, n):\n        self.inner = Net(n - 1)\n\n\n"
        "def train(n):\n    Net(n)\n    {train}\n"
    ),
    "a class that is its own base": "class Net(Net):\n    pass\n\n\ndef train(n):\n    Net()\n    {train}\n",
    "a name that is itself": "value = value\n\n\ndef train(n):\n    print(value.x.y)\n    {train}\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_back_to_itself(tmp_path: Path, name: str) -> None:
    text = f"import torch\n\n\n{PROGRAMS[name].format(train=TRAIN)}\n\nif __name__ == '__main__':\n"
    guard = text.count("\n")
    assert found(tmp_path, {"train.py": text + "    train(3)\n"}) == [f"train.py:{guard} TRP101"]
    assert found(tmp_path, {"train.py": f"{text}    torch.manual_seed(0)\n    train(3)\n"}) == []


UNKNOWN = {
    "exec": "exec(open('setup.txt').read())\nmake()",
    "a module that is imported by a name worked out at run time": "importlib.import_module(sys.argv[1]).make()",
    "getattr": "getattr(torch, sys.argv[1])(4).backward()",
    "globals": "globals()[sys.argv[1]]()",
    "a method put on a class of somebody else": "Other.train = make\nOther().train()",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_cannot_be_known_is_no_finding(tmp_path: Path, name: str) -> None:
    body = UNKNOWN[name].replace("\n", "\n    ")
    head = "import importlib\nimport sys\n\nimport torch\nfrom elsewhere import Other, make\n"
    assert found(tmp_path, {"train.py": f"{head}\nif __name__ == '__main__':\n    {body}\n"}) == []


def test_a_patched_function_is_taken_for_what_it_was(tmp_path: Path) -> None:
    text = "import random\n\nimport torch\n\nrandom.seed = lambda value: None\nrandom.seed(0)\nrandom.shuffle([1])\n"
    assert found(tmp_path, {"train.py": text + "torch.ones(1, requires_grad=True).backward()\n"}) == []


def test_a_function_that_many_call_is_walked_once(tmp_path: Path) -> None:
    """Each function calls each later one: without a memo the walk would take 2**40 steps."""
    functions = "".join(
        f"def f{i}(x):\n" + "".join(f"    f{j}(x)\n" for j in range(i + 1, 40)) + "    return x\n\n\n"
        for i in range(40)
    )
    text = f"import torch\n\n\n{functions}\nif __name__ == '__main__':\n    f0(1)\n    {TRAIN}\n"
    guard = text[: text.index("if __name__")].count("\n") + 1
    assert found(tmp_path, {"train.py": text}) == [f"train.py:{guard} TRP101"]


def test_an_expression_nested_ten_thousand_deep(tmp_path: Path) -> None:
    text = "import torch\n\ntotal = " + "+".join(["1"] * 10_000) + "\ntorch.ones(1, requires_grad=True).backward()\n"
    assert found(tmp_path, {"train.py": text}) in ([], ["train.py:1 TRP001"])


CROSSWISE = """import elsewhere


def cast(t, k=1):
    if t:
        return t
    return k() if k else k


def pick(v, d=None):
    if v:
        return v
    return d() if d else d


def f(v):
    cast(v, pick)
    pick(v, cast)
    cast(v, elsewhere.make())
    pick(v, elsewhere.make())
    for x in set(cast(v)):
        print(x)
    print(hash(pick(v)) % 8)
"""


def test_results_of_functions_that_contain_each_other(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CROSSWISE)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP205", "TRP206", "TRP003"]})
    assert not check(Request((tmp_path,), resolver)).findings
