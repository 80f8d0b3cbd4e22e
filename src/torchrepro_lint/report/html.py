"""Findings as one page that needs no other file: by rule, file or program, with a filter, and with a picture of the
way from an entry point to what it draws.

All text from code and file names goes through `escaped`; the page's policy lets no other script run than its own.
"""

from __future__ import annotations

import html
import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from importlib.resources import files as package_files
from typing import TYPE_CHECKING

from torchrepro_lint.model import Certainty, Finding, Level, Location
from torchrepro_lint.report import Context
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.links import rule_url
from torchrepro_lint.report.places import shown_path, shown_place
from torchrepro_lint.report.positions import Files, whole
from torchrepro_lint.report.spans import spans
from torchrepro_lint.report.summary import summary

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

_NO_PROGRAM = "in no program that was checked"


def render(result: Result, context: Context) -> Iterator[str]:
    """The page, by file as it is written; its script groups it anew."""
    page = package_files("torchrepro_lint.report") / "page"
    style, script = ((page / name).read_text(encoding="utf-8") for name in ("report.css", "report.js"))
    policy = f"default-src 'none'; style-src 'sha256-{_digest(style)}'; script-src 'sha256-{_digest(script)}'"
    told = escaped(summary(result, context._replace(color=False)).strip())
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>torchrepro-lint</title>\n<style>{style}</style>\n</head>\n<body>\n"
    yield f"<header><h1>torchrepro-lint</h1><p>{told}</p></header>\n"
    yield from _controls(result)
    yield "<main>\n"
    files = Files(result)
    for finding in result.findings:
        yield from _article(finding, result, context, files)
    yield f"</main>\n<script>{script}</script>\n</body>\n</html>\n"


def _controls(result: Result) -> Iterator[str]:
    rules = sorted({(f.code, f.name) for f in result.findings})
    yield '<form hidden><input type="search" name="text" placeholder="Filter" aria-label="Filter">\n'
    yield _choice("view", [("file", "by file"), ("rule", "by rule"), ("program", "by program")])
    yield _choice("rule", [("", "all rules"), *((f"{code} {name}", f"{code} {name}") for code, name in rules)])
    yield _choice("level", [("", "all levels"), *((level.value, level.value) for level in Level)])
    yield _choice("certainty", [("", "all certainties"), *((sure.value, sure.value) for sure in Certainty)])
    yield "<output></output></form>\n"


def _choice(name: str, options: Iterable[tuple[str, str]]) -> str:
    rows = "".join(f'<option value="{escaped(value)}">{escaped(text)}</option>' for value, text in options)
    return f'<select name="{name}" aria-label="{name}">{rows}</select>\n'


def _article(finding: Finding, result: Result, context: Context, files: Files) -> Iterator[str]:
    path = shown_path(result.root, finding.location.path, context.cwd)
    programs = [shown_path(result.root, entry, context.cwd) for entry in result.programs.get(finding.location.path, ())]
    data = {
        "rule": f"{finding.code} {finding.name}",
        "file": path,
        "level": finding.level.value,
        "certainty": finding.certainty.value,
        "programs": json.dumps([whole(visible(name)) for name in programs] or [_NO_PROGRAM]),
    }
    attributes = " ".join(f'data-{key}="{escaped(value)}"' for key, value in data.items())
    place = escaped(shown_place(result.root, finding.location, context.cwd))
    level = finding.level.value
    yield f'<article {attributes}><details><summary><span class="level {level}">{finding.code} {level}</span> '
    yield f"({finding.certainty.value}): {_prose(finding.message)} "
    yield f'<span class="where">{place}</span></summary>\n<div>\n'
    if finding.related:
        yield _picture(finding, result, context, files)
    else:
        yield _source(finding.location, files)
    if finding.measured:
        yield f"<p>Evidence: {escaped(finding.measured)}</p>\n"
    if finding.help:
        yield f"<p>Help: {_prose(finding.help)}</p>\n"
    if finding.fix is not None:
        yield f"<p>Fix: {_prose(finding.fix.title)} [{finding.fix.safety.value} fix]</p>\n"
    url = escaped(rule_url(finding.code))
    yield f'<p><a href="{url}" rel="noreferrer">{finding.code} {escaped(finding.name)}</a></p>\n'
    yield "</div></details></article>\n"


def _source(location: Location, files: Files) -> str:
    text = files.text(location)
    return f"<pre>{location.range.start.line} | {escaped(text)}</pre>\n" if text else ""


def _picture(finding: Finding, result: Result, context: Context, files: Files) -> str:
    """The finding's place and its others, in their order, as boxes with arrows between."""
    steps = [("here", finding.location), *((item.message, item.location) for item in finding.related)]
    boxes = (
        f"<li><b>{escaped(told)}</b> {escaped(shown_place(result.root, location, context.cwd))}"
        f"<code>{escaped(files.text(location))}</code></li>\n"
        for told, location in steps
    )
    return f'<ol class="way">\n{"".join(boxes)}</ol>\n'


def _prose(message: str) -> str:
    return "".join(f"<code>{escaped(text)}</code>" if is_code else escaped(text) for text, is_code in spans(message))


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def escaped(text: str) -> str:
    """Text for an element or an attribute in double quotes, on one line."""
    return html.escape(whole(visible(text)))
