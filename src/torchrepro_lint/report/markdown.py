"""Findings as Markdown: for the summary page of a GitHub job, or a comment on a pull request.

Whatever comes from code or file names is written with entities, so that nothing in it is read as Markdown or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from torchrepro_lint.model import Finding
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.links import rule_url
from torchrepro_lint.report.places import shown_path, shown_place
from torchrepro_lint.report.positions import whole
from torchrepro_lint.report.spans import spans
from torchrepro_lint.report.statistics import advice, rows
from torchrepro_lint.report.summary import summary

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_LIMIT = 900_000  # bytes; GitHub refuses a summary of more than a mebibyte
_MARKUP = re.compile(r"[\\`*_\[\]#|~@:&<>\"']|(?<=www)\.", re.IGNORECASE)


def render(result: Result, context: Context) -> Iterator[str]:
    """A heading, a table of rules, and a table of findings for each file, as far as there is room."""
    yield "## torchrepro-lint\n\n"
    yield f"**{escaped(summary(result, context._replace(color=False)).strip())}**\n"
    if not result.findings:
        return
    yield "\n| rule | found | certain | likely | depends | safe fixes |\n|---|--:|--:|--:|--:|--:|\n"
    for row in rows(result):
        sure = {certainty.value: number for certainty, number in row.certainties}
        counts = " | ".join(str(sure.get(name, "")) for name in ("certain", "likely", "depends"))
        yield f"| {_rule(row.code, row.name)} | {row.number} | {counts} | {row.fixable or ''} |\n"
    yield from (f"\n{_prose(line.strip())}\n" for line in advice(result, context.cwd))
    size = shown = 0
    for path, group in groupby(result.findings, key=lambda finding: finding.location.path):
        found = list(group)
        table = "".join(_table(path, found, result, context))
        size += len(table.encode())
        if size > _LIMIT:
            yield f"\n{len(result.findings) - shown} more findings do not fit here.\n"
            return
        shown += len(found)
        yield table


def _table(path: str, found: list[Finding], result: Result, context: Context) -> Iterator[str]:
    yield f"\n### {_code(shown_path(result.root, path, context.cwd))}\n\n| line | rule | what |\n|--:|---|---|\n"
    for finding in found:
        start, cell = finding.location.range.start, finding.location.cell
        line = f"{'' if cell is None else f'cell {cell}: '}{start.line}"
        sure = f"{finding.level.value}, {finding.certainty.value}"
        parts = [_prose(finding.message)]
        places = (_code(shown_place(result.root, item.location, context.cwd)) for item in finding.related)
        parts += [f"{place} {_prose(item.message)}" for place, item in zip(places, finding.related, strict=True)]
        parts += [f"help: {_prose(finding.help)}"] if finding.help else []
        if finding.fix is not None:
            parts.append(f"fix: {_prose(finding.fix.title)} ({finding.fix.safety.value} fix)")
        yield f"| {line} | {_rule(finding.code, finding.name)} ({sure}) | {'<br>'.join(parts)} |\n"


def _rule(code: str, name: str) -> str:
    return f"[{code}]({rule_url(code)}) {name}"


def _prose(message: str) -> str:
    return "".join(_code(text) if is_code else escaped(text) for text, is_code in spans(message))


def _code(text: str) -> str:
    return f"<code>{escaped(text)}</code>"


def escaped(text: str) -> str:
    """Text on one line that a reader of Markdown sees as it is."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", whole(visible(text)))
