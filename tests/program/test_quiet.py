"""Functions that a seeding walk need not enter, and the walk's findings where it would be wrong not to."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.engine import Request, check
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.project import files
from torchrepro_lint.settings import SettingsResolver

EXAMPLES = Path(__file__).parents[2] / "examples"
LEAVES = {
    "a draw": "np.random.permutation(3)",
    "a seed": "np.random.seed(0)",
    "the end": "sys.exit()",
    "nothing": "print(3)",
}
MAIN = """\
import sys
import numpy as np


def first(n):
    second(n)


def second(n):
    if n:
        first(n - 1)
    third(n)


def third(n):
    second(n) if n else LEAF


if __name__ == "__main__":
    first(len(sys.argv))
    np.random.shuffle([1, 2])
"""


def _found(folder: Path) -> list[tuple[str, int, str]]:
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP1"]})
    findings = check(Request((folder,), resolver)).findings
    return [(f.location.path, f.related[-1].location.range.start.line, f.code) for f in findings if f.related]


@pytest.mark.parametrize(
    ("leaf", "drawn"), [("a draw", 16), ("a seed", None), ("the end", 21), ("nothing", 21)], ids=lambda v: str(v)
)
def test_functions_that_call_each_other(tmp_path: Path, leaf: str, drawn: int | None) -> None:
    (tmp_path / "main.py").write_text(MAIN.replace("LEAF", LEAVES[leaf]))
    assert _found(tmp_path) == ([("main.py", drawn, "TRP101")] if drawn else [])


@pytest.mark.parametrize("held", [0, 10, 1_000_000])
def test_findings_do_not_hang_on_what_is_held(tmp_path: Path, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "COMPACT", files.Bounds(held, held // 2))
    for number in range(4):
        (tmp_path / f"main{number}.py").write_text(
            f"from steps import step{number % 2}\n\nif __name__ == '__main__':\n    step{number % 2}()\n"
        )
    (tmp_path / "steps.py").write_text(
        "import numpy as np\n\n\ndef step0():\n    np.random.shuffle([1])\n\n\ndef step1():\n    print(1)\n"
    )
    assert _found(tmp_path) == [("main0.py", 5, "TRP101"), ("main2.py", 5, "TRP101")]


HANDED = """\
import numpy as np


def job():
    LEAF


def other():
    print(1)


LAUNCHER


if __name__ == "__main__":
    FIRST
    THEN
    np.random.shuffle([1, 2])
"""
LAUNCHERS = {
    "called": ("def launch(fn):\n    fn()", "launch({})"),
    "called by its keyword": ("def launch(*, fn, n=1):\n    fn()", "launch(n=2, fn={})"),
    "called with arguments": ("def launch(fn, *args):\n    for _ in range(3):\n        fn(*args)", "launch({})"),
    "handed on": ("def launch(fn):\n    inner(3, fn)\n\n\ndef inner(n, task):\n    task()", "launch({})"),
    "handed to a method": ("class Pool:\n    def launch(self, fn):\n        fn()", "Pool().launch({})"),
    "handed on by methods": (
        "class Pool:\n    def launch(self, fn):\n        self.run(fn)\n\n    def run(self, fn):\n        fn()",
        "Pool().launch({})",
    ),
    "called under another name": ("def launch(fn):\n    task = fn\n    task()", "launch({})"),
    "kept by an object": (
        "class Task:\n    def __init__(self, fn):\n        self.fn = fn\n\n    def run(self):\n        self.fn()",
        "Task({}).run()",
    ),
    "called by a function inside": ("def launch(fn):\n    def inner():\n        fn()\n\n    inner()", "launch({})"),
    "called in a lambda": ("def launch(fn):\n    fn()", "launch(lambda: {}())"),
}


@pytest.mark.parametrize("first", ["print(0)", "other"])
@pytest.mark.parametrize("leaf", ["a draw", "a seed"])
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_function_that_is_handed_over_runs(tmp_path: Path, launcher: str, leaf: str, first: str) -> None:
    definition, call = LAUNCHERS[launcher]
    before = call.format("other") if first == "other" else first
    replaced = {"LEAF": LEAVES[leaf], "LAUNCHER": definition, "FIRST": before, "THEN": call.format("job")}
    source = HANDED if leaf == "a seed" else HANDED.replace("    np.random.shuffle([1, 2])\n", "")
    for name, text in replaced.items():
        source = source.replace(name, text)
    (tmp_path / "main.py").write_text(source)
    assert _found(tmp_path) == ([("main.py", 5, "TRP101")] if leaf == "a draw" else [])


def test_what_is_released_is_freed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "COMPACT", files.Bounds(0, 0))
    alive: list[int] = []
    release = Program.release

    def counted(self: Program) -> None:
        release(self)
        alive.append(sum(isinstance(found, ModuleFacts) for found in gc.get_objects()))

    monkeypatch.setattr(Program, "release", counted)
    gc.collect()
    before = sum(isinstance(found, ModuleFacts) for found in gc.get_objects())
    gc.disable()  # as a run of the command does
    try:
        check(Request((EXAMPLES,), SettingsResolver(cards.codes(), isolated=True)))
    finally:
        gc.enable()
    assert len(alive) > 3 and max(alive) <= before


@pytest.mark.parametrize(
    ("body", "codes"), [("late()\n    draw()", []), ("draw()\n    late()\n    late()", ["TRP103"])]
)
def test_a_module_that_a_function_imports_seeds_when_the_function_first_runs(
    tmp_path: Path, body: str, codes: list[str]
) -> None:
    (tmp_path / "seeds.py").write_text("import numpy as np\n\nnp.random.seed(0)\n")
    functions = "def late():\n    import seeds\n\n\ndef draw():\n    np.random.shuffle([1, 2])\n\n\n"
    main = f'import numpy as np\n\n\n{functions}if __name__ == "__main__":\n    {body}\n'
    (tmp_path / "main.py").write_text(main)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["TRP1"]})
    assert [f.code for f in check(Request((tmp_path,), resolver)).findings] == codes
