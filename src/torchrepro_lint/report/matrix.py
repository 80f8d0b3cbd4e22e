"""What was measured, as a matrix of operations and environments: aligned text, a Markdown page and an HTML page.

Knows measurements; nothing of files, and not how they came about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from torchrepro_lint.evidence import CONFIRMED, Measured, pace
from torchrepro_lint.report.escaping import visible

TITLE = "What operations did, by environment"
LEGEND = (
    ("differs", "equal inputs gave different bits: so many results of so many runs"),
    ("differs always", "so too under torch.use_deterministic_algorithms(True)"),
    ("raises", "no run differed; raises under that flag"),
    ("switches", "no run differed; another kernel runs under that flag"),
    ("agrees", "no run differed, for these inputs"),
    ("-", "not measured there"),
)
_WORDS = {"RAISES_IN_DET_MODE": "raises", "SWITCHES_IN_DET_MODE": "switches", "NOT_REPRODUCED": "agrees"}
_STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3em .6em;"
    "text-align:left}td.differs{background:#fdd}td.raises{background:#ffd}"
)


class Matrix(NamedTuple):
    """Names of environments, and for each operation its cell in each of them."""

    environments: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]


def matrix(measured: Iterable[Measured]) -> Matrix:
    """Operations by name, with their arguments where it was a call that was measured; environments in their order."""
    cells: dict[str, dict[str, str]] = {}
    environments: dict[str, None] = {}
    for item in measured:
        environment = environment_of(item)
        environments.setdefault(environment)
        cells.setdefault(name_of(item), {}).setdefault(environment, cell_of(item))
    columns = tuple(environments)
    return Matrix(
        columns, tuple((name, tuple(row.get(c, "-") for c in columns)) for name, row in sorted(cells.items()))
    )


def environment_of(item: Measured) -> str:
    """`NVIDIA H200, torch 2.11.0`."""
    return f"{item.machine}{'' if item.device == 'cuda' else ' (CPU)'}, torch {item.torch}"


def name_of(item: Measured) -> str:
    """`index-add`, or `index-add(dim=1)`."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in sorted(item.arguments.items()))
    return f"{item.id}({arguments})" if arguments else item.id


def cell_of(item: Measured) -> str:
    """`differs 20/20, 1.8x slower`."""
    if item.verdict in CONFIRMED:
        always = " always" if item.verdict != CONFIRMED[0] else ""
        told = f"differs{always} {item.distinct}/{item.repeats}"
    else:
        told = _WORDS.get(item.verdict, item.verdict)
    flag = "raises" if item.outcome == "raises" and told != "raises" else None
    slow = pace(item.slowdown) if item.slowdown is not None else None
    return ", ".join(part for part in (told, flag, slow) if part)


def text(found: Matrix) -> Iterator[str]:
    """Aligned columns; what the words mean stands below."""
    table = [("operation", *found.environments), *((name, *cells) for name, cells in found.rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    for row in table:
        yield visible("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()) + "\n"
    yield "\n"
    yield from (f"{word}: {meaning}\n" for word, meaning in LEGEND)


def markdown(found: Matrix) -> Iterator[str]:
    """A page."""
    yield f"# {TITLE}\n\n"
    yield _line(("operation", *found.environments))
    yield _line(("---",) * (len(found.environments) + 1))
    yield from (_line((f"`{name}`", *cells)) for name, cells in found.rows)
    yield "\n"
    yield from (f"- **{word}**: {meaning}\n" for word, meaning in LEGEND)


def html(found: Matrix) -> Iterator[str]:
    """A page of its own, without anything from elsewhere."""
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title><style>{_STYLE}</style>'
    yield f"</head><body>\n<h1>{TITLE}</h1>\n<table>\n"
    heads = "".join(f"<th>{escape(name)}</th>" for name in ("operation", *found.environments))
    yield f"<tr>{heads}</tr>\n"
    for name, cells in found.rows:
        shown = "".join(f'<td class="{escape(cell.split()[0].strip(","))}">{escape(cell)}</td>' for cell in cells)
        yield f"<tr><td><code>{escape(name)}</code></td>{shown}</tr>\n"
    yield "</table>\n<dl>\n"
    yield from (f"<dt>{escape(word)}</dt><dd>{escape(meaning)}</dd>\n" for word, meaning in LEGEND)
    yield "</dl>\n</body></html>\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
