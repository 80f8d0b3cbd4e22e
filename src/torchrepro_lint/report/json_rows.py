"""JSON written as it comes, one row on a line: less memory and time than indented, for thousands of findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchrepro_lint.report.escaping import as_json


def listed(rows: Iterable[object]) -> Iterator[str]:
    """A list."""
    before = "[\n"
    for row in rows:
        yield before + as_json(row, indent=None)
        before = ",\n"
    yield "[]" if before == "[\n" else "\n]"


def members(head: Mapping[str, object], name: str, rows: Iterable[object]) -> Iterator[str]:
    """An object with these members, and last the list `name`."""
    told = (f"{as_json(key)}: {as_json(value, indent=None)},\n" for key, value in head.items())
    yield "{" + "".join(told) + f"{as_json(name)}: "
    yield from listed(rows)
    yield "}"
