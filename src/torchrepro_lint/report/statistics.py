"""How much was found, by rule: a table for a person, or a JSON list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchrepro_lint.model import Safety
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import as_json
from torchrepro_lint.report.summary import summary

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result


def render_table(result: Result, context: Context) -> Iterator[str]:
    """One line per rule, most findings first, `[*]` where there are safe fixes; other counts; the summary."""
    rows = _rows(result)
    counts = max((len(str(count)) for _, _, count, _ in rows), default=0)
    names = max((len(name) for _, name, _, _ in rows), default=0)
    for code, name, count, fixable in rows:
        fixes = f"[*] {fixable}" if fixable else ""
        yield f"{count:>{counts}}  {code}  {name:<{names}}  {fixes}".rstrip() + "\n"
    for name, number in _others(result):
        yield f"{name}: {number}\n"
    yield summary(result, context)


def render_json(result: Result) -> Iterator[str]:
    """The same rows as a list."""
    keys = ("code", "name", "count", "fixable")
    rows = [dict(zip(keys, row, strict=True)) for row in _rows(result)]
    yield as_json(rows) + "\n"


def _rows(result: Result) -> list[tuple[str, str, int, int]]:
    """(code, name, findings, findings with a safe fix)."""
    found = Counter((finding.code, finding.name) for finding in result.findings)
    safe = Counter(f.code for f in result.findings if f.fix and f.fix.safety is Safety.SAFE)
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [(code, name, count, safe[code]) for (code, name), count in ordered]


def _others(result: Result) -> Iterator[tuple[str, int]]:
    """What the engine counted besides the findings of rules."""
    rules = {finding.code for finding in result.findings}
    return ((name, number) for name, number in result.statistics.items() if name not in rules)
