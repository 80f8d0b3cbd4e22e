"""Findings as plain data and back. What does not have their form raises ValueError, whatever it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from torchrepro_lint.model import (
    Certainty,
    Edit,
    Finding,
    Fix,
    Level,
    Location,
    Position,
    Range,
    Related,
    Safety,
)


def encoded(findings: Iterable[Finding]) -> list[Any]:
    """Findings that have no fingerprint yet."""
    return [
        [
            f.code,
            f.name,
            f.level.value,
            f.certainty.value,
            f.message,
            _location(f.location),
            _plain(f.properties),
            [[_location(r.location), r.message] for r in f.related],
            None if f.fix is None else _encoded_fix(f.fix),
            f.help,
            f.statement,
        ]
        for f in findings
    ]


def decoded(rows: Any) -> list[Finding]:
    """The findings in plain data."""
    try:
        return [_finding(*row) for row in rows]
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError("no finding") from error


def _finding(
    code: Any, name: Any, level: Any, certainty: Any, message: Any, location: Any, properties: Any, related: Any,
    fix: Any, help: Any, statement: Any,
) -> Finding:  # fmt: skip
    return Finding(
        _text(code),
        _text(name),
        Level(level),
        Certainty(certainty),
        _text(message),
        _place(location),
        _mapping(properties),
        tuple(Related(_place(where), _text(told)) for where, told in related),
        None if fix is None else _fix(*fix),
        help=None if help is None else _text(help),
        statement=_text(statement),
    )


def _location(where: Location) -> list[Any]:
    return [where.path, *where.range.start, *where.range.end, where.cell]


def _place(row: Sequence[Any]) -> Location:
    path, *range, cell = row
    return Location(_text(path), _range(range), None if cell is None else _number(cell))


def _encoded_fix(fix: Fix) -> list[Any]:
    return [fix.safety.value, fix.title, [_edit(e) for e in fix.edits], fix.within]


def _fix(safety: Any, title: Any, edits: Any, within: Any) -> Fix:
    return Fix(Safety(safety), _text(title), tuple(_change(*edit) for edit in edits), _text(within))


def _edit(edit: Edit) -> list[Any]:
    return [edit.path, *edit.range.start, *edit.range.end, edit.text]


def _change(path: Any, line: Any, column: Any, end_line: Any, end_column: Any, text: Any) -> Edit:
    return Edit(_text(path), _range([line, column, end_line, end_column]), _text(text))


def _range(numbers: Sequence[Any]) -> Range:
    line, column, end_line, end_column = map(_number, numbers)
    return Range(Position(line, column), Position(end_line, end_column))


def _plain(value: Any) -> Any:
    """What JSON can hold, with its own lists and objects."""
    if hasattr(value, "items"):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("no text")


def _number(value: Any) -> int:
    if isinstance(value, int):
        return value
    raise ValueError("no number")


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise ValueError("no object")
