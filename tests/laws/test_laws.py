"""What a program does decides what is found in it: changes that keep what it does keep the findings, up to place.

Each law is tried on the programs of the cards and of `tests/program/programs`, with choices that are the same in every
run. `python -m tests.laws FOLDER...` tries them on whole repositories.
"""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from laws.transformations import ALL, Files, Transformation, dead_code, plain
from torchrepro_lint import cards
from torchrepro_lint.cards.examples import Example, examples
from torchrepro_lint.engine import Request, Run, check, check_files
from torchrepro_lint.model import Finding
from torchrepro_lint.seeding import interpreter
from torchrepro_lint.settings import SettingsResolver

PAGES = sorted((Path(__file__).parents[1] / "program" / "programs").glob("*.md"))
PER_LAW = 100  # programs that each transformation is tried on here
# Laws that do not hold on some program of a page, and why: what the analysis lacks there, or goes by on purpose.
KNOWN = {
    "extract": {
        "TRP201": "a dict that several functions hand on is judged for all their calls at once",
        "TRP303": "what is set on an object after a call counts in the function that is called, too",
        "TRP701": "a state that is set aside and put back is looked for in one function",
        "calls": "a `partial` that is passed or returned is not followed to where it is called",
        "entry-points": "fire offers each function of a file as a command, a new one too",
        "inference": "what a constructor is given is not told apart by the calls of a function that works it out",
        "listed": "that only the size of an image is read is told in the function that opens it",
        "seed-after-draw": "whether a model is only looked at is told in the function that makes it",
        "strictness": "that kernels are made strict for a while is told in the function that puts them back",
        "unseeded": "what a function puts into a dict that it is given is not found there by its key",
    },
    "move": {
        "TRP101": "`globals()` offers the functions of the file; what it imports is mostly no command",
        "search-path": "a function that changes the search path is looked for in the file that calls it",
        "printed": "a program of several files is no short one",
    }
    | dict.fromkeys(
        ("TRP106", "TRP107"), "a file without a word about seeds is not read for calls of helpers that seed"
    )
    | {
        "TRP304": "processes that get a shared model are looked for in the file that shares it",
        "TRP603": "the Trainer is looked for in the file that the program starts in",
    },
    "rename": {"TRP502": "masks of the truth are known by their names"},
}


def _programs() -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[str, Example]] = []
    for code, card in cards.load_cards().items():
        found += [(f"{code}:{e.line}", e) for e in card.examples() if e.kind != "fixed"]
    for page in PAGES:
        found += [(f"{page.stem}:{e.line}", e) for e in examples(page, 1, page.read_text())]
    return [(name, dict(e.sources())) for name, e in found if e.torch is None and _is_python(e)]


def _is_python(example: Example) -> bool:
    """Whether all of it is Python that `ast` can write again; suppressions and notebooks are not."""
    texts = [text for _, text in example.files]
    if not all(name.endswith(".py") for name, _ in example.files) or any(
        "noqa" in t or "torchrepro:" in t for t in texts
    ):
        return False
    try:
        plain(dict(example.files))
    except SyntaxError:
        return False
    return True


def request(*paths: Path) -> Request:
    """All rules but the one that reads requirements."""
    overrides = {"select": ["ALL"], "ignore": ["TRP801"]}
    return Request(paths, SettingsResolver(cards.codes(), isolated=True, overrides=overrides))


def written(folder: Path, files: Files) -> Path:
    """The folder, with these files in it."""
    for name, text in {"pyproject.toml": "", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def counted(found: Iterable[Finding]) -> Counter[tuple[str, str, str]]:
    """Rule, level and certainty of each finding."""
    return Counter((f.code, f.level.name, f.certainty.name) for f in found)


def findings(folder: Path, files: Files) -> Counter[tuple[str, str, str]]:
    """What is found in a program, whatever its places."""
    return counted(check(request(written(folder, files))).findings)


PROGRAMS = _programs()
UNCHANGED: dict[str, Counter[tuple[str, str, str]]] = {}  # what is found in a program, by its name


@pytest.mark.parametrize("law", ALL, ids=lambda law: law.__name__)
def test_a_change_that_keeps_what_a_program_does_keeps_its_findings(law: Transformation, tmp_path: Path) -> None:
    tried, broken = 0, []
    chosen = {name: zlib.crc32(f"{law.__name__} {sorted(files.items())}".encode()) for name, files in PROGRAMS}
    for name, files in sorted(PROGRAMS, key=lambda program: chosen[program[0]]):  # whatever stands above it in its card
        before = plain(files)
        after = law(before, random.Random(chosen[name]))
        if after is None:
            continue
        if name not in UNCHANGED:
            UNCHANGED[name] = findings(tmp_path / f"{tried}-before", before)
        wanted = UNCHANGED[name]
        found = findings(tmp_path / f"{tried}-after", after)
        if wanted != found and name.partition(":")[0] not in KNOWN.get(law.__name__, {}):
            broken.append(f"{name}: {dict(wanted - found)} became {dict(found - wanted)}")
        tried += 1
        if tried == PER_LAW:
            break
    assert tried >= min(PER_LAW, 12)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("number", range(10))
def test_the_order_in_which_files_are_given_changes_nothing(number: int, tmp_path: Path) -> None:
    several = [(name, files) for name, files in PROGRAMS if len(files) > 1]
    name, files = several[number * len(several) // 10]
    paths = sorted(written(tmp_path, files).rglob("*.py"))
    first, second = (check(request(*given)).findings for given in (paths, paths[::-1]))
    assert first == second, name


def test_a_changed_file_is_understood_as_if_nothing_had_been_asked_before(tmp_path: Path) -> None:
    tried = 0
    for name, files in PROGRAMS[::7]:
        before = plain(files)
        after = dead_code(before, random.Random(zlib.crc32(name.encode()))) or before
        folder = written(tmp_path / str(tried), before)
        run = Run(request(folder))
        check_files(run, run.files)
        for file, text in after.items():
            run.change(folder / file, text)
        warm = sorted((f for group in check_files(run, run.files).values() for f in group), key=lambda f: f.sort_key)
        cold = check(request(written(folder, after))).findings
        assert [(f.sort_key, f.message) for f in warm] == [(f.sort_key, f.message) for f in cold], name
        tried += 1
    assert tried > 40


@pytest.mark.parametrize("bound", ["MAX_CALLS", "MAX_DEPTH", "MAX_LINES"])
def test_a_smaller_budget_adds_no_finding(bound: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = 0
    for number, (name, files) in enumerate(PROGRAMS[:: len(PROGRAMS) // 40]):
        folder = written(tmp_path / str(number), files)
        with monkeypatch.context() as patch:
            patch.setattr(interpreter, bound, 1)
            result = check(request(folder))
        whole = check(request(folder))
        cut += len(whole.findings) - len(result.findings)
        more = counted(result.findings) - counted(whole.findings)
        # TRP101 reports TRP111's for the whole program, and judges by its project one that is not followed to its end.
        told = {"TRP111", *({finding.code for finding in whole.findings} & {"TRP101"})}
        assert not {code for code, *_ in more} - told, name
    assert cut > 0  # the bound was met
