"""The environment that results depend on, and how it has changed, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchrepro_lint.report.escaping import as_json, visible
from torchrepro_lint.report.summary import counted

Change = tuple[str, Any, Any]
"""Name, old and new value."""


def manifest_json(manifest: Mapping[str, Any]) -> str:
    """The form in which it is saved."""
    return as_json(manifest, indent=1) + "\n"


def manifest_text(manifest: Mapping[str, Any]) -> str:
    """A table of names and values."""
    rows = list(_rows(manifest))
    wide = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{wide}}  {visible(value)}\n" for name, value in rows)


def drift_json(changes: Sequence[Change]) -> str:
    """A list of changes, what matters most first."""
    return as_json([{"name": name, "before": old, "now": new} for name, old, new in changes], indent=1) + "\n"


def drift_text(changes: Sequence[Change]) -> str:
    """The same as lines."""
    if not changes:
        return "Nothing that results depend on has changed.\n"
    wide = max(len(name) for name, _, _ in changes)
    lines = [f"{name:<{wide}}  {visible(_shown(old))} -> {visible(_shown(new))}\n" for name, old, new in changes]
    return "".join(lines) + f"{counted(len(changes), 'change')}, what matters most first.\n"


def _rows(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in manifest.items():
        if not isinstance(value, Mapping):
            yield key, _shown(value)
            continue
        for name, inner in value.items():
            yield name, _shown(inner)


def _shown(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "on" if value else "off"
        case _:
            return str(value)
