"""Knowledge as data: reads the tables of `rules/catalogue/`. Holds no logic and knows no rule.

Every table is a TOML file of rows; each row, or the table's head, names its `source`. To parse them takes a good
part of a small run, so `scripts/generate` writes down what they say as JSON, each with a digest of the text that it was
made from: a table that has been edited since is parsed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from torchrepro_lint.cards import rules_dir
from torchrepro_lint.reading import digest

CLASS_ENDINGS = ("Loader", "Sampler", "Generator", "Loader2", "CLI", "Trainer")
COMPILED = "compiled.json"


@cache
def table(name: str) -> Mapping[str, Any]:
    """The table `rules/catalogue/<name>.toml`."""
    text = (rules_dir() / "catalogue" / f"{name}.toml").read_bytes()
    made_from, found = _compiled().get(name, ("", {}))
    return found if made_from == digest(text) else _parsed(text)


@cache
def _compiled() -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Table -> the digest of its text and what it says, of those that were compiled."""
    try:
        return dict(json.loads((rules_dir() / "catalogue" / COMPILED).read_bytes()))
    except (OSError, ValueError):  # it only saves time
        return {}


def compiled(names: Iterable[str]) -> str:
    """What to write into the file COMPILED: a line for each of these tables."""
    folder = rules_dir() / "catalogue"
    texts = {name: (folder / f"{name}.toml").read_bytes() for name in names}
    lines = [f"{json.dumps(name)}: {json.dumps([digest(text), _parsed(text)])}" for name, text in texts.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _parsed(text: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text.decode())


@cache
def names(table_name: str, key: str) -> Mapping[str, Mapping[str, Any]]:
    """Canonical name -> row, for the array of tables `key`; a row may list several `names`."""
    found: dict[str, Mapping[str, Any]] = {}
    for row in table(table_name)[key]:
        prefix = f"{row['prefix']}." if "prefix" in row else ""
        for name in row["names"]:
            found[prefix + name] = row
    return found


@cache
def libraries() -> Mapping[str, frozenset[str]]:
    """Package -> the names of it that the catalogue has rows for, of all packages but PyTorch."""
    tables = (("loaders", "loaders"), ("distributed", "samplers"), ("rng", "seeders"), ("rng", "draws"))
    known = {name for table_name, key in tables for name in names(table_name, key)}
    triggers = (rules_dir() / "catalogue" / "ops" / "triggers.txt").read_text(encoding="utf-8")
    known |= {name for line in triggers.splitlines() for name in line.partition(": ")[2].split()}
    found: dict[str, set[str]] = {}
    for name in known:
        package = name.partition(".")[0]
        if package not in ("torch", "builtins", "random", "numpy"):
            found.setdefault(package, set()).add(name)
    return {package: frozenset(group) for package, group in found.items()}


@lru_cache(maxsize=65536)
def canonical(name: str) -> str:
    """The usual spelling of an external name: `torch.utils.data.sampler.Sampler` is `torch.utils.data.Sampler`."""
    root = name.partition(".")[0]
    for prefix, usual in _spellings().get(root, ()):
        if name.startswith(prefix):
            return usual + name[len(prefix) :]
    for prefix, usual in table("spellings")["modules"].items():
        if name.startswith(prefix):
            return usual + name.rpartition(".")[2]  # type: ignore[no-any-return]
    return name


@cache
def _spellings() -> Mapping[str, tuple[tuple[str, str], ...]]:
    by_root: dict[str, tuple[tuple[str, str], ...]] = {}
    for written, usual in table("spellings")["prefixes"].items():
        root = written.partition(".")[0]
        by_root[root] = (*by_root.get(root, ()), (written, usual))
    return by_root


def last_parts(names: Iterable[str]) -> list[str]:
    """What calls of these names end with, sorted: `Generator` for `torch.Generator`."""
    return sorted({name.rpartition(".")[2] for name in names})


@cache
def by_last_part(wanted: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """The names grouped by their last part, in a fixed order."""
    groups: dict[str, set[str]] = {}
    for name in sorted(wanted):
        groups.setdefault(name.rpartition(".")[2], set()).add(name)
    return {last: frozenset(group) for last, group in groups.items()}
