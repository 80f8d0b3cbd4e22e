"""Findings whose cause is written in a configuration file: they lie there, and so does their fix, which is never safe,
since others may read the same entry."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.dataflow import Program, Site
from torchrepro_lint.dataflow.abstract_values import Constant, Origin, is_configured
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit
from torchrepro_lint.syntax import replace

_SCALAR = re.compile(r"null|~|true|false|yes|no|on|off|[-+]?[\d.]+|", re.IGNORECASE)
_IN_PYTHON = {"True": "true", "False": "false"}
FIX_TITLE = "Write `{entry}`"


def cause(value: Site, program: Program, wanted: Callable[[object], bool]) -> Site | None:
    """The entry of a configuration file that gives a value which is `wanted`, where nothing else gives another."""
    found = _constants(program.origins(value.node, value.scope))
    if found is None and program.defaults is not None:
        found = _constants(program.defaults.value(value.node, value.scope))
    entries = [Site(o.node, o.scope) for o in found or () if is_configured(o)]
    return entries[0] if entries and all(wanted(o.value) for o in found or ()) else None


def _constants(origins: list[Origin]) -> list[Constant] | None:
    found = [o for o in origins if isinstance(o, Constant)]
    return found if found and len(found) == len(origins) else None


def placed(draft: Draft, value: Site | None, program: Program, instead: str, wanted: Callable[[object], bool]) -> Draft:
    """The draft, of a finding that lies where the value is written, if that is a configuration file."""
    entry = cause(value, program, wanted) if value is not None else None
    return at_entry(draft, entry, instead) if entry is not None else draft


def at_entry(draft: Draft, entry: Site, instead: str, used: str = "it is used here") -> Draft:
    """The same for an entry that is known; `used` says what the program does with it."""
    facts, node = entry.scope.facts, _with_key(entry)
    text = _IN_PYTHON.get(instead, instead)
    key = node.arg if isinstance(node, ast.keyword) else None
    return draft._replace(
        written_at=Place(facts, node, used),
        edits=_written(facts, entry.node, text),
        fix_title=FIX_TITLE.replace("{entry}", f"{key}: {text}" if key else text),
        unsafe=True,
    )


def _with_key(entry: Site) -> ast.AST:
    """`seed: null` as a whole."""
    facts = entry.scope.facts
    held = facts.parents.get(entry.node)
    for key, value in zip(held.keys, held.values, strict=True) if isinstance(held, ast.Dict) else ():
        if value is entry.node and isinstance(key, ast.Constant):
            whole = ast.copy_location(ast.keyword(str(key.value), value), key)
            whole.end_lineno, whole.end_col_offset = value.end_lineno, value.end_col_offset
            return whole
    return entry.node


def _written(facts: ModuleFacts, value: ast.expr, text: str) -> tuple[Edit, ...]:
    """Another value in the place of one; none where what is written there is not the value itself."""
    before = facts.text(value)
    if not _SCALAR.fullmatch(before) or (not before and facts.source.path.suffix not in (".yaml", ".yml")):
        return ()
    return (replace(facts, value, text if before else f" {text}"),)


def is_none(value: object) -> bool:
    """Whether a seed is none."""
    return value is None
