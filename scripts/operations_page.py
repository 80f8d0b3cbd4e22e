"""Writes docs/operations.md from the catalogue of operations; with --check, only says whether it is up to date."""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path

from torchrepro_lint.kernels.operations import Operation, every
from torchrepro_lint.report.condition_words import alternatives
from torchrepro_lint.report.operation_facts import MEANINGS, conditions, word

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"
HEAD = """\
# Operations that give other bits on every run

The whole catalogue of operations, as `torchrepro-lint ops` shows it: what PyTorch, and packages built on it, compute
with kernels whose result can differ from run to run on the same machine, with the same seed and the same data. Written
from `rules/catalogue/ops/` by `scripts/operations_page.py`; `torchrepro-lint ops NAME` has the alerts, the sources and
what was measured.

"""
COLUMNS = "| operation | written | pass | when | behaviour | use instead |\n|---|---|---|---|---|---|\n"


def page() -> str:
    """The page's text."""
    parts = [HEAD, *(f"- **{name}**: {meaning}\n" for name, meaning in MEANINGS.items())]
    for family, operations in groupby(every(), key=lambda op: op.family):
        parts += [f"\n## {family.replace('-', ' ').capitalize()}\n\n", COLUMNS, *map(_row, operations)]
    return "".join(parts)


def _row(operation: Operation) -> str:
    written = ", ".join(f"`{name}`" for name in (*operation.spellings, *operation.syntax))
    when = [conditions(operation), *operation.runtime]
    if words := alternatives(operation.exact):
        when.append(f"not where {words}")
    name = operation.id if operation.reported else f"{operation.id} (not reported: {operation.report_reason})"
    cells = (name, written, operation.direction, "; ".join(filter(None, when)), _behaviour(operation))
    return "".join(f"| {cell.replace('|', chr(92) + '|')} " for cell in (*cells, operation.alternative)) + "|\n"


def _behaviour(operation: Operation) -> str:
    told: dict[str, list[str]] = {}
    for device in operation.everywhere:
        said = [_told(operation, number, device) for number in range(len(operation.on(device)))]
        told.setdefault("; ".join(said), []).append(device)
    return "<br>".join(f"{', '.join(devices)}: {said}" for said, devices in told.items())


def _told(operation: Operation, number: int, device: str) -> str:
    behaviour = operation.on(device)[number]
    ranges = [f"{operation.package} {behaviour.package}"] if behaviour.package else []
    ranges += [behaviour.torch] if behaviour.torch else []
    where = f" where {words}" if (words := alternatives(behaviour.when)) else ""
    return f"{word(behaviour)}{where}{' in ' if ranges else ''}{', '.join(ranges)}"


def main() -> int:
    new = page()
    if "--check" in sys.argv:
        is_old = not PAGE.exists() or PAGE.read_text(encoding="utf-8") != new
        print("docs/operations.md is out of date; run scripts/operations_page.py" if is_old else "up to date")
        return int(is_old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
