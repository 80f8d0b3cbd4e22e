"""The tables as JSON: the same as their TOML, used as long as they are made from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchrepro_lint import catalogue
from torchrepro_lint.cards import rules_dir

FOLDER = rules_dir() / "catalogue"
PARSED = catalogue._parsed
TABLES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.toml"))


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the tables, from which they are read."""
    shutil.copytree(FOLDER, tmp_path / "catalogue")
    monkeypatch.setattr(catalogue, "rules_dir", lambda: tmp_path)
    _forget()
    yield tmp_path / "catalogue"
    _forget()


def _forget() -> None:
    catalogue.table.cache_clear()
    catalogue._compiled.cache_clear()


def _refuse(text: bytes) -> dict[str, Any]:
    raise AssertionError(f"parsed: {text[:40]!r}")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_what_its_toml_says_without_parsing_it(
    name: str, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_parsed", _refuse)
    assert catalogue.table(name) == PARSED((rules / f"{name}.toml").read_bytes())


def test_a_table_that_was_edited_is_parsed(rules: Path) -> None:
    with (rules / "spellings.toml").open("a", encoding="utf-8") as file:
        file.write('"lab_tools.old." = "lab_tools."\n')
    assert catalogue.table("spellings")["prefixes"]["lab_tools.old."] == "lab_tools."


@pytest.mark.parametrize("written", [None, "", "<<<<<<< ours\n{"])
def test_without_the_compiled_tables_all_are_parsed(rules: Path, written: str | None) -> None:
    (rules / catalogue.COMPILED).unlink()
    if written is not None:
        (rules / catalogue.COMPILED).write_text(written, encoding="utf-8")
    assert catalogue.table("spellings") == PARSED((rules / "spellings.toml").read_bytes())
