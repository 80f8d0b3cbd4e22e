"""The catalogue of operations as a table: for a terminal, a line each, cut to its width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from torchrepro_lint.program.kernels.operations import Operation
from torchrepro_lint.report.operation_facts import MEANINGS, by_device
from torchrepro_lint.report.terminal import Paint

_HEAD = ("operation", "pass", "behaviour", "written", "instead")
_NARROWEST = 24  # columns that the last column gets at least, whatever the width
_MOST_WRITTEN = 24
_MOST_BEHAVIOUR = 28


def render_table(
    operations: Sequence[Operation], devices: Sequence[str], release: Sequence[int], *, color: bool, width: int
) -> Iterator[str]:
    """The operations that one of `devices` runs, by family; what the words mean stands below."""
    paint = Paint(color)
    rows = [_HEAD, *(_cells(op, devices, release) for op in operations)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    left = max(width - sum(widths) - 2 * 5, _NARROWEST)
    yield paint("strong", _line(_HEAD, widths, left)) + "\n"
    for family, members in groupby(operations, key=lambda op: op.family):
        yield "\n" + paint("strong", family.replace("-", " ")) + "\n"
        for operation in members:
            yield _line(_cells(operation, devices, release), widths, left) + "\n"
    shown = {word for op in operations for words in by_device(op, devices, release) for word in words.split(" or ")}
    yield "\n"
    yield from (f"{word}: {meaning}\n" for word, meaning in MEANINGS.items() if word in shown)
    yield f"In PyTorch {'.'.join(map(str, release))}. `torchrepro-lint ops NAME` tells the whole story of one.\n"


def _cells(operation: Operation, devices: Sequence[str], release: Sequence[int]) -> tuple[str, ...]:
    where = by_device(operation, [d for d in operation.everywhere if d in devices], release)
    behaviour = ", ".join(f"{word} {'/'.join(on)}" if len(devices) > 1 else word for word, on in where.items())
    names = [*dict.fromkeys(name.rpartition(".")[2] for name in operation.spellings), *operation.syntax]
    written = _cut(", ".join(names), _MOST_WRITTEN)
    return (
        operation.id,
        operation.direction,
        _cut(behaviour or "-", _MOST_BEHAVIOUR),
        written,
        operation.alternative.replace("`", ""),
    )


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    aligned = [cell.ljust(size) for cell, size in zip(cells[:-1], widths, strict=True)]
    return "  " + "  ".join((*aligned, _cut(cells[-1], left))).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3].rstrip(" ,") + "..."
