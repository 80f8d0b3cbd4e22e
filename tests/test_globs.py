"""Patterns mean what they mean to git."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from torchrepro_lint.globs import Globs, gitignore_patterns
from torchrepro_lint.time_limit import limited

HANG = 15  # seconds of CPU: what is right takes less than one


@pytest.mark.parametrize(
    ("pattern", "path", "is_dir", "verdict"),
    [
        ("build", "build", True, True),
        ("build", "a/b/build", False, True),
        ("build/", "a/build", False, None),
        ("build/", "a/build", True, True),
        ("/build", "a/build", True, None),
        ("a/*.py", "a/b.py", False, True),
        ("a/*.py", "a/b/c.py", False, None),
        ("a/**/c.py", "a/c.py", False, True),
        ("a/**/c.py", "a/b/b/c.py", False, True),
        ("a/**", "a", True, None),
        ("a/**", "a/b", True, True),
        ("**/x.py", "x.py", False, True),
        ("x**y", "xaay", False, True),
        ("x**y", "xa/ay", False, None),
        ("[!a-c].py", "d.py", False, True),
        ("[!a-c].py", "b.py", False, None),
        ("[]x].py", "].py", False, True),
        ("[[:digit:]].py", "7.py", False, True),
        ("[a.py", "[a.py", False, None),
        (r"\[a.py", "[a.py", False, True),
        (r"\!a.py", "!a.py", False, True),
        ("!a.py", "a.py", False, False),
        ("?.py", "é.py", False, True),
        ("*", "a", False, True),
    ],
)
def test_a_pattern_takes_in_leaves_out_or_says_nothing(
    pattern: str, path: str, is_dir: bool, verdict: bool | None
) -> None:
    assert Globs([pattern]).verdict(path, is_dir) is verdict


def test_the_last_pattern_that_matches_decides() -> None:
    globs = Globs(["*.py", "!/a/*.py", "a/b.py"])
    assert globs.verdict("c.py", False) is True
    assert globs.verdict("a/c.py", False) is False
    assert globs.verdict("a/b.py", False) is True
    assert globs.verdict("a/b.txt", False) is None


def test_covers_what_is_in_a_matched_folder() -> None:
    globs = Globs(["tests/*", "docs/"])
    assert globs.covers("tests/a/b.py")
    assert globs.covers("x/docs/conf.py")
    assert not globs.covers("src/tests.py")
    assert not globs.covers("docs")


def test_no_patterns_match_nothing() -> None:
    assert Globs([]).verdict("a", False) is None


def test_lines_of_a_gitignore() -> None:
    text = "\ufeff# comment\n\na.py  \r\nb\\ \n/\n\\#c\n!d\n  e\n"
    assert list(gitignore_patterns(text)) == ["a.py", "b\\ ", "\\#c", "!d", "  e"]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for folder in ("a", "a/b", "b/a", "ab", "aabab", "a/b/a/b/a", "a/a/b/a"):
        (root / folder).mkdir(parents=True)
    return root


PATHS = ["a", "a/b", "a/b/c", "a/c", "b/a", "b/a/a", "b/c", "ab", "ab/a", "c", "abc", "b"]
PATHS += [
    "a/b/a",
    "a/b/a/b",
    "a/b/a/b/a",
    "a/b/a/b/a/c",
    "a/a/b/a/b",
    "aabab/abcab",
    "aabab/bba",
    "abababc",
    "aacb",
    "a/abcaab",
]
TOKENS = ["a", "b", "c", "*", "**", "/", "?", "[ab]", "[!a]", "\\"]
LINE = st.lists(st.sampled_from(TOKENS), max_size=5).map("".join)
STARRY = st.lists(st.sampled_from(["a", "b", "ab", "*", "?"]), min_size=3, max_size=9).map("".join)
CROSSING = st.lists(st.sampled_from(["a", "b", "a*b", "*", "**"]), min_size=2, max_size=7).map("/".join)
# Some versions of git take `a**/b` for `a/**/b` or `ab`, against their documentation.
LINES = st.lists((LINE | STARRY | CROSSING).filter(lambda line: not re.search(r"[^/*]\*\*", line)), max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=LINES, negated=st.sets(st.integers(0, 4)))
def test_git_agrees(repository: Path, lines: list[str], negated: set[int]) -> None:
    text = "\n".join(("!" if n in negated else "") + line for n, line in enumerate(lines[:5])) + "\n"
    (repository / ".gitignore").write_text(text)
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        cwd=repository, input="\n".join(PATHS) + "\n", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert asked.returncode in (0, 1), asked.stderr
    globs = Globs(gitignore_patterns(text))
    assert {path for path in PATHS if ignored(globs, path, repository)} == set(asked.stdout.split())


def ignored(globs: Globs, path: str, root: Path) -> bool:
    """As a walk decides it: what is in an ignored folder is never looked at."""
    parts = path.split("/")
    steps = ["/".join(parts[: n + 1]) for n in range(len(parts))]
    return any(globs.verdict(step, (root / step).is_dir()) for step in steps)


@pytest.mark.parametrize("end", ["", "/"])
@pytest.mark.parametrize(
    ("unit", "tail", "name"),
    [("*a", "b", "a" * 3000), ("**/a/", "b", "a/" * 1500 + "c"), ("**/*a*a/", "b", "aa/" * 1000 + "c"),
     ("?*", "b", "a" * 3000), ("[ab]*", "c", "ab" * 1500), ("**/", "a", "b/" * 1500 + "c")],
)  # fmt: skip
def test_a_hostile_pattern_costs_no_more_than_its_length_times_that_of_the_path(
    unit: str, tail: str, name: str, end: str
) -> None:
    with limited(HANG):
        assert Globs([unit * 30 + tail + end]).verdict(name, False) is None


def test_blanks_in_a_gitignore() -> None:
    text = "a" + " " * 300_000 + "b\n" + "c" + " " * 300_000 + "\n" + "d\\\\" + " " * 9
    with limited(HANG):
        assert list(gitignore_patterns(text))[1:] == ["c", "d\\\\"]
