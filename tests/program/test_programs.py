"""Small programs of several files: what is reported in them, and what is not, as their pages in `programs` mark it.

A page is read as the examples of a card are. All rules that it marks anywhere are run on each of its programs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.cards.examples import Example, examples
from torchrepro_lint.engine import Request, check
from torchrepro_lint.settings import SettingsResolver

PAGES = sorted((Path(__file__).parent / "programs").glob("*.md"))
PROGRAMS = [(page, example) for page in PAGES for example in examples(page, 1, page.read_text())]


def _codes(page: Path) -> list[str]:
    return sorted({mark.code for of, example in PROGRAMS if of == page for mark in example.marks()})


@pytest.mark.parametrize(("page", "example"), PROGRAMS, ids=[f"{p.stem}-{e.kind}-{e.line}" for p, e in PROGRAMS])
def test_findings_are_on_the_marked_lines(page: Path, example: Example, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    for name, text in example.sources():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": [*_codes(page), "TRP003"]})
    found = check(Request((tmp_path,), resolver)).findings
    lines = sorted((f.location.path, f.location.range.start.line, f.code) for f in found)
    assert lines == sorted((m.file, m.line, m.code) for m in example.marks()), "\n".join(f.message for f in found)
