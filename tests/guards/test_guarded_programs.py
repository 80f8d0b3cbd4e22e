"""A correct program has no finding above a note; without any one of its protective lines it has one more."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from guarded import Program, programs

from torchrepro_lint import check
from torchrepro_lint.model import Finding, Level

PROGRAMS = programs()


def _checked(folder: Path, files: dict[str, str]) -> tuple[Finding, ...]:
    for name, text in files.items():
        if name.endswith(".py"):
            ast.parse(text)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    report = check(folder, isolated=True)
    assert report.complete
    return report.findings


def _by_rule(findings: tuple[Finding, ...]) -> Counter[tuple[str, str]]:
    """How often each rule reports what; that it does so for another family is another finding."""
    return Counter((f.code, str(f.properties.get("families", f.properties.get("family")))) for f in findings)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
def test_each_protective_line_is_missed(program: Program, tmp_path: Path) -> None:
    whole = _checked(tmp_path, program.files())
    assert [
        (f.code, f.location.path, f.location.range.start.line, f.message) for f in whole if f.level is not Level.NOTE
    ] == []
    for guard in program.guards:
        new = _by_rule(_checked(tmp_path, program.files(without=guard))) - _by_rule(whole)
        told = f"line {guard.line}: {program.lines[guard.line - 1].strip()}"
        if guard.silent is None:
            assert new, f"nothing is said without {told}"
        else:
            assert not new, f"is reported now, take the reason away: {told}"


def test_there_are_enough_of_them() -> None:
    guards = [guard for program in PROGRAMS for guard in program.guards]
    assert len(PROGRAMS) >= 40
    assert len(guards) >= 150
    assert sum(guard.silent is not None for guard in guards) <= len(guards) / 10
