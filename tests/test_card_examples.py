"""Every example in every card does what it promises: findings on exactly the marked lines, and fixes that give the
`fixed` program byte for byte, which is clean and which a second run leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchrepro_lint import cards
from torchrepro_lint.cards import Example
from torchrepro_lint.engine import Request, check
from torchrepro_lint.repair import fix
from torchrepro_lint.settings import SettingsResolver


def _programs() -> list[tuple[str, Example, Example | None]]:
    """(code, program, the fixed program that follows it)."""
    found: list[tuple[str, Example, Example | None]] = []
    for code, card in cards.load_cards().items():
        examples = card.examples()
        for example, following in zip(examples, (*examples[1:], None), strict=False):
            if example.kind != "fixed":
                fixed = following if following is not None and following.kind == "fixed" else None
                found.append((code, example, fixed))
    return found


PROGRAMS = _programs()
IDS = [f"{code}-{example.kind}-{example.line}" for code, example, _ in PROGRAMS]


def _write(folder: Path, example: Example) -> None:
    (folder / "pyproject.toml").write_text("")
    for name, text in example.sources():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, newline="")


def _request(folder: Path, code: str, example: Example, extra: tuple[str, ...] = ()) -> Request:
    resolver = SettingsResolver(cards.codes(), isolated=True, overrides={"select": [code, "TRP003", *extra]})
    return Request((folder,), resolver, torch_version=example.torch)


def _companions(code: str, example: Example) -> tuple[str, ...]:
    """TRP002 is judged against the rules that a suppression names."""
    if code != "TRP002":
        return ()
    return tuple(c for c in cards.codes() if any(c in text for _, text in example.files))


@pytest.mark.parametrize(("code", "example", "fixed"), PROGRAMS, ids=IDS)
def test_findings_are_on_the_marked_lines(code: str, example: Example, fixed: Example | None, tmp_path: Path) -> None:
    _write(tmp_path, example)
    result = check(_request(tmp_path, code, example, _companions(code, example)))
    found = sorted((f.location.path, f.location.range.start.line, f.code) for f in result.findings)
    wanted = sorted((m.file, m.line, m.code) for m in example.marks()) if example.kind == "bad" else []
    assert found == wanted, "\n".join(f.message for f in result.findings)
    assert all(f.help for f in result.findings)


FIXED = [(c, e, f) for c, e, f in PROGRAMS if f is not None]


@pytest.mark.parametrize(("code", "example", "fixed"), FIXED, ids=[f"{c}-{e.line}" for c, e, _ in FIXED])
def test_the_fix_gives_the_fixed_program(code: str, example: Example, fixed: Example, tmp_path: Path) -> None:
    _write(tmp_path, example)
    request = _request(tmp_path, code, example, _companions(code, example))
    fixes = [finding.fix for finding in check(request).findings]
    assert not fixed.unsafe or any(found is not None and found.safety == "unsafe" for found in fixes)
    fix(request, unsafe=fixed.unsafe, write=True)
    for name, text in fixed.sources():
        assert (tmp_path / name).read_bytes().decode() == text
    untouched = {name: text for name, text in example.sources() if name not in dict(fixed.files)}
    for name, text in untouched.items():
        assert (tmp_path / name).read_bytes().decode() == text
    again = fix(request, unsafe=fixed.unsafe, write=True)
    assert (again.fixed, again.findings) == (0, ())


@pytest.mark.parametrize(("code", "example"), [(c, e) for c, e, f in PROGRAMS if f is None and e.kind == "bad"])
def test_a_program_shown_without_its_fix_has_none(code: str, example: Example, tmp_path: Path) -> None:
    _write(tmp_path, example)
    result = check(_request(tmp_path, code, example, _companions(code, example)))
    safe = [f for f in result.findings if f.fix is not None]
    assert not safe or cards.load_card(code).fix != "none"
