"""What holds of every fix, over programs made from the cards' examples in surroundings of all kinds."""

from __future__ import annotations

import ast
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from torchrepro_lint import cards
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver

EXAMPLES = [
    (code, example)
    for code, card in cards.load_cards().items()
    for example in card.examples()
    if example.kind == "bad" and card.fix != "none" and all(name.endswith(".py") for name, _ in example.files)
]
QUICK = settings(max_examples=60, derandomize=True, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Program:
    """The files of a small project; `code` is the rule that its example is of."""

    code: str
    files: Mapping[str, str]
    torch: str | None


def _tabs(text: str) -> str:
    return re.sub(r"(?m)^( {4})+", lambda found: "\t" * (len(found[0]) // 4), text)


def _joined(text: str) -> str:
    """Simple statements that follow each other at the top on one line, with semicolons."""
    return re.sub(r"(?m)^(import [\w.]+)\n(?=import [\w.]+$)", r"\1; ", text)


def _one_line_bodies(text: str) -> str:
    return re.sub(r"(?m)^( *(?:for|if|with|while) [^\n]*:)\n +([\w.]+\([^\n]*\))$(?!\n +)", r"\1 \2", text)


def _nested(text: str) -> str:
    lines = [f"    {line}" if line.strip() else line for line in text.splitlines()]
    return "\n".join(["def program():", *lines, "", "", 'if __name__ == "__main__":', "    program()", ""])


def _commented(text: str) -> str:
    return re.sub(r"(?m)^( *)((?:for|def|if|\w+ = )[^\n]*)$", r"\1# what follows: ü [(\n\1\2", text)


def _headed(text: str) -> str:
    if text.startswith(('"', "from __future__")):
        return text
    return f'#!/usr/bin/env python\n# A licence.\n\n"""What it does."""\n\n{text}'


CHANGES = (_tabs, _joined, _one_line_bodies, _nested, _commented, _headed)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    code, example = draw(st.sampled_from(EXAMPLES))
    changes = draw(st.lists(st.sampled_from(CHANGES), unique=True, max_size=3))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n"]))
    final = draw(st.booleans())
    files = {}
    for name, text in example.sources():
        changed = text
        for change in changes:
            changed = change(changed)
        try:
            ast.parse(changed)
        except SyntaxError:
            changed = text
        files[name] = (changed if final else changed.rstrip("\n")).replace("\n", newline)
    return Program(code, files, example.torch)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def _request(folder: Path, program: Program, *, backwards: bool = False) -> Request:
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": ["ALL"]})
    paths = sorted(folder / name for name in program.files)
    return Request(tuple(reversed(paths) if backwards else paths), resolver, torch_version=program.torch)


def _texts(folder: Path, program: Program) -> dict[str, str]:
    return {name: (folder / name).read_bytes().decode() for name in program.files}


def _codes(result: Result) -> Counter[str]:
    return Counter(finding.code for finding in result.findings)


def _is_within(small: str, large: str) -> bool:
    """Whether the characters of `small` come in `large` in this order."""
    remaining = iter(large)
    return all(character in remaining for character in small)


@QUICK
@given(programs(), st.booleans())
def test_a_fix_is_what_its_diff_showed_and_is_made_once(program: Program, unsafe: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, program.files)
        before = check(_request(folder, program))
        assert before.statistics.get("TRP001", 0) == 0
        shown = fix(_request(folder, program, backwards=True), unsafe=unsafe, write=False)
        assert _texts(folder, program) == program.files  # nothing is written
        made = fix(_request(folder, program), unsafe=unsafe, write=True)
        after = _texts(folder, program)
        for rel, text in after.items():
            ast.parse(text, rel)
            assert ("\r\n" in program.files[rel]) or "\r" not in text
            assert "\r\n" not in program.files[rel] or "\n" not in text.replace("\r\n", "")

        assert (made.fixed, made.diffs) == (shown.fixed, shown.diffs)
        assert {rel for rel, text in after.items() if text != program.files[rel]} == {rel for rel, _ in made.diffs}
        again = fix(_request(folder, program), unsafe=unsafe, write=True)
        assert (again.fixed, _texts(folder, program)) == (0, after)
        assert again.findings == made.findings  # what is reported after fixing is what there is
        grown = _codes(made) - _codes(before)
        assert not {code for code in grown if code not in NOTES}, grown
        _check_patch(folder, program, made, after)


NOTES = {code for code, card in cards.load_cards().items() if card.level.value == "note"}


def _check_patch(folder: Path, program: Program, made: Result, after: Mapping[str, str]) -> None:
    """The diff, applied by git, gives what the fix gave."""
    _write(folder, program.files)
    patch = "".join(diff for _, diff in made.diffs).encode()
    if patch:
        git = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(git, cwd=folder, input=patch, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
    assert _texts(folder, program) == after


@QUICK
@given(programs())
def test_every_byte_outside_the_edits_stays(program: Program) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(folder, program.files)
        findings = [f for f in check(_request(folder, program)).findings if f.fix is not None]
        assume(findings)
        removed: dict[str, list[tuple[int, int]]] = {}
        for finding in findings:
            assert finding.fix is not None
            for edit in finding.fix.edits:
                text = program.files[edit.path]
                starts = [0, *(m.end() for m in re.finditer(r"\r\n|\n", text))]
                place = [starts[p.line - 1] + p.column - 1 for p in edit.range]
                removed.setdefault(edit.path, []).append((place[0], place[1]))
        rounds = fix(_request(folder, program), unsafe=True, write=True)
        if rounds.fixed == len(findings):
            for rel, text in _texts(folder, program).items():
                gone = {i for start, end in removed.get(rel, ()) for i in range(start, end)}
                kept = "".join(c for i, c in enumerate(program.files[rel]) if i not in gone)
                assert _is_within(kept, text)


@pytest.mark.parametrize("code", sorted({code for code, _ in EXAMPLES} - {"TRP002"}))
def test_a_suppressed_program_is_left_alone(code: str, tmp_path: Path) -> None:
    example = next(e for c, e in EXAMPLES if c == code)
    files = {name: f"# torchrepro: ignore-file[{code}]\n{text}" for name, text in example.sources()}
    _write(tmp_path, files)
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": [code]})
    made = fix(Request((tmp_path,), resolver, torch_version=example.torch), unsafe=True, write=True)
    assert (made.fixed, {name: (tmp_path / name).read_text() for name in files}) == (0, files)
