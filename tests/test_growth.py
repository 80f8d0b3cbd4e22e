"""Twice as many lines are twice the work: counted in executed lines of Python, so that no machine is too slow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.repair import fix
from torchrepro_lint.report import Context, renderer
from torchrepro_lint.settings import SettingsResolver
from torchrepro_lint.source.suppressions import find_suppressions

HEAD = "import torch\nfrom torch.utils.data import DataLoader\n\nds = []\n"
LIMIT = 2.3  # of the work for 2n by the work for n: sorting takes a little more than its share


class Meter:
    """Lines of Python that were executed."""

    def __init__(self) -> None:
        self.lines = 0

    def trace(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        self.lines += event == "line"
        return self.trace


@contextmanager
def metered() -> Iterator[Meter]:
    meter, before = Meter(), sys.gettrace()
    sys.settrace(meter.trace)
    try:
        yield meter
    finally:
        sys.settrace(before)


def checked(folder: Path, text: str) -> Result:
    (folder / "pyproject.toml").write_text("")
    (folder / "a.py").write_text(text)
    return check(Request((folder,), SettingsResolver(cards.codes(), isolated=True)))


def work(folder: Path, text: str) -> int:
    """That of a run with its report."""
    with metered() as meter:
        result = checked(folder, text)
        "".join(renderer("full")(result, Context(False, 120, folder, False)))
    return meter.lines


def growth(folder: Path, text: Callable[[int], str], n: int) -> float:
    checked(folder, text(3))  # what is loaded and read once
    return work(folder, text(2 * n)) / work(folder, text(n))


def lines(line: str) -> Callable[[int], str]:
    return lambda n: HEAD + "".join(line.format(i=i) + "\n" for i in range(n))


LINEAR = {
    "harmless": lines("l{i} = foo(ds, shuffle=True, num_workers={i})"),
    "unused noqa": lines("x{i} = {i}  # noqa: TRP201"),
    "plain noqa": lines("x{i} = {i}  # noqa"),
    "used noqa": lines("x{i} = torch.Generator()  # noqa: TRP104"),
    "findings": lines("x{i} = torch.Generator()"),
    "ignore-file and findings": lines("x{i} = torch.Generator()  # torchrepro: ignore-file[TRP104]"),
    "noqa on one line": lambda n: HEAD + "x = 1 " + "#noqa" * n + "\n",
    "ignore on one line": lambda n: HEAD + "x = 1 " + "#torchrepro:ignore[a-b" * n + "\n",
    "the same code": lambda n: HEAD + "x = 1  # noqa: " + ",".join(["TRP201"] * n) + "\n",
    "unknown codes": lambda n: HEAD + "x = 1  # noqa: " + ",".join(f"TRP9{i}" for i in range(n)) + "\n",
    "names": lambda n: HEAD + "x = 1  # torchrepro: ignore[" + ", ".join(f"a-b{i}" for i in range(n)) + "]\n",
    "one statement": lambda n: HEAD + "x = [\n" + "    foo(),  # noqa: TRP201\n" * n + "]\n",
    "a seed that grows": lines("x{i} = 1; x = x + {i}; seed = x; torch.manual_seed(seed)"),
    "blanks": lambda n: HEAD + "x = 1  #" + " #" * n + " noqa: TRP201\n",
}


@pytest.mark.parametrize("name", LINEAR)
def test_twice_the_lines_are_twice_the_work(name: str, tmp_path: Path) -> None:
    assert growth(tmp_path, LINEAR[name], 200) < LIMIT


SEARCHES = {
    "switches": (lines("torch.backends.cudnn.benchmark = True"), 200),
    "switches to and fro": (lines("torch.backends.cudnn.benchmark = {i} % 2 == 0 or True"), 100),
    "saved switches": (lines("torch.backends.cudnn.benchmark = b; b = torch.backends.cudnn.benchmark"), 40),
    "loaders": (lines("l{i} = DataLoader(ds, shuffle=True, num_workers=2)"), 60),
    "loaders under tests": (lines("if a{i}: l{i} = DataLoader(ds, shuffle=True, num_workers=2)"), 60),
    "silenced loaders": (lines("l{i} = DataLoader(ds, shuffle=True, num_workers=2)  # noqa: TRP201"), 60),
    "a tensor that is scattered to": (
        lambda n: HEAD + "def f(x, i, s):\n" + "    x = x.scatter_add_(0, i, s)\n" * n + "    return x\n",
        60,
    ),
    "imports of one name": (lines("import torch"), 100),
    "handlers": (lines("try:\n    import torch\nexcept ImportError:\n    torch = None"), 60),
    "functions that seed": (lines("def seed{i}(s): torch.manual_seed(s)\nseed{i}(0)"), 40),
    "entries": (lambda n: HEAD + "kw = {}\n" + "kw['a'] = 1\n" * n + "DataLoader(ds, **kw)\n" * n, 200),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_not_done_anew_for_each_finding(name: str, tmp_path: Path) -> None:
    text, n = SEARCHES[name]
    assert growth(tmp_path, text, n) < LIMIT


MUTUAL = """\
def cast(t, k=1):
    if t:
        return t


def pick(v, d=None):
    if v:
        return v
    return d() if d else d


def use(v):
    for x in set(cast(v)):
        print(x)


v = cast(pick(v))
for i in y:
    v = pick(v, cast)
use(v)
use(cast(pick(v)))
"""


def test_functions_whose_results_contain_each_other(tmp_path: Path) -> None:
    assert [f.message for f in checked(tmp_path, HEAD + MUTUAL).findings if f.code == "TRP003"] == []


def test_fixing_many_lines(tmp_path: Path) -> None:
    def mended(n: int) -> int:
        (tmp_path / "a.py").write_text(lines("x{i} = {i}  # noqa: TRP201")(n))
        with metered() as meter:
            made = fix(Request((tmp_path,), SettingsResolver(cards.codes(), isolated=True)), unsafe=False, write=False)
        assert made.fixed == n
        return meter.lines

    mended(3)
    assert mended(200) / mended(100) < LIMIT


def test_nested_folders(tmp_path: Path) -> None:
    def nested(n: int) -> int:
        folder = tmp_path / str(n)
        place = folder.joinpath(*["d"] * n)
        place.mkdir(parents=True)
        (place / "a.py").write_text("import torch\n")
        with metered() as meter:
            assert len(checked(folder, "").files) == 2
        return meter.lines

    nested(3)
    assert nested(200) / nested(100) < 3  # the names of the folders have four times as many characters


@pytest.mark.parametrize("comment", ["#noqa", "#torchrepro:ignore[a", "TRP201,"])
def test_suppressions_on_one_line_grow_with_their_number(comment: str) -> None:
    import time

    def taken(count: int) -> float:
        start = time.process_time()
        find_suppressions(f"x = 1 # noqa: {comment * count}\n", lambda: [0])
        return time.process_time() - start

    assert taken(32_000) < 9 * taken(8_000)  # 16 times as long, if each were compared with each


def test_imports_that_are_never_closed_take_no_time() -> None:
    import time

    from torchrepro_lint.project.search_path import may_set_path

    start = time.process_time()
    may_set_path(b"path\n" + b"import (\n" * 6000)
    assert time.process_time() - start < 0.3


def test_an_annotation_of_a_long_word_takes_no_time() -> None:
    import time

    from torchrepro_lint.kernels.annotations import _WORD

    start = time.process_time()
    _WORD.findall("a" * 20_000 + "!")
    assert time.process_time() - start < 0.3


def test_arms_that_seed_nothing_are_joined_at_once() -> None:
    from torchrepro_lint.seeding.state import joined

    compared: list[int] = []
    before: Any = tuple(range(1000))

    def level(one: int, other: int) -> int:
        compared.append(one)
        return max(one, other)

    assert joined(before, (*before, 1000), (*before, 1001), level) == (*before, 1000, 1001)
    assert compared == []


def test_what_may_be_wrapped_is_asked_once_for_each_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchrepro_lint.dataflow import program

    asked: list[object] = []
    may_wrap = program._may_wrap
    monkeypatch.setattr(program, "_may_wrap", lambda value: asked.append(value) or may_wrap(value))
    checked(tmp_path, LINEAR["a seed that grows"](50))
    assert len(asked) < 500  # of 51 bindings of `x` and of `seed`; each time for each use, there were thousands
