"""The catalogue of operations as a table: for a terminal, a line each, cut to its width."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from torchrepro_lint.evidence import Measured
from torchrepro_lint.kernels.operations import Operation
from torchrepro_lint.report.operation_facts import MEANINGS, by_device
from torchrepro_lint.report.terminal import Paint

_NARROWEST = 24  # columns that the last column gets at least, whatever the width
_MOST_WRITTEN = 24
_MOST_BEHAVIOUR = 28


def render_table(
    operations: Sequence[Operation],
    devices: Sequence[str],
    release: Sequence[int],
    measured: Mapping[str, Sequence[Measured]],
    *,
    color: bool,
    width: int,
) -> Iterator[str]:
    """The operations that one of `devices` runs, by family; a legend of the words is below. Where anything was
    `measured`, by id, it replaces the column of what to use instead."""
    paint = Paint(color)
    head = ("operation", "pass", "behaviour", "written", "measured" if any(measured.values()) else "instead")
    last = {op.id: _measured(measured[op.id]) if any(measured.values()) else op.alternative for op in operations}
    rows = {op.id: (*_cells(op, devices, release), last[op.id].replace("`", "")) for op in operations}
    widths = [max(len(row[column]) for row in (head, *rows.values())) for column in range(4)]
    left = max(width - sum(widths) - 2 * 5, _NARROWEST)
    yield paint("strong", _line(head, widths, left)) + "\n"
    for family, members in groupby(operations, key=lambda op: op.family):
        yield "\n" + paint("strong", family.replace("-", " ")) + "\n"
        yield from (_line(rows[operation.id], widths, left) + "\n" for operation in members)
    shown = {word for op in operations for words in by_device(op, devices, release) for word in words.split(" or ")}
    yield "\n"
    yield from (f"{word}: {meaning}\n" for word, meaning in MEANINGS.items() if word in shown)
    yield f"In PyTorch {'.'.join(map(str, release))}. `torchrepro-lint ops NAME` shows everything about one.\n"


def _cells(operation: Operation, devices: Sequence[str], release: Sequence[int]) -> tuple[str, ...]:
    where = by_device(operation, [d for d in operation.everywhere if d in devices], release)
    behaviour = ", ".join(f"{word} {'/'.join(on)}" if len(devices) > 1 else word for word, on in where.items())
    names = [*dict.fromkeys(name.rpartition(".")[2] for name in operation.spellings), *operation.syntax]
    written = _cut(", ".join(names), _MOST_WRITTEN)
    return operation.id, operation.direction, _cut(behaviour or "-", _MOST_BEHAVIOUR), written


def _measured(items: Sequence[Measured]) -> str:
    """`cuda 20 of 20 differ`: different results of so many runs."""
    told = (f"{item.distinct} of {item.repeats} differ" if item.distinct > 1 else "no difference" for item in items)
    return ", ".join(dict.fromkeys(f"{item.device} {words}" for item, words in zip(items, told, strict=True)))


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    aligned = [cell.ljust(size) for cell, size in zip(cells[:-1], widths, strict=True)]
    return "  " + "  ".join((*aligned, _cut(cells[-1], left))).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3].rstrip(" ,") + "..."
