"""What was found, as text: one module per output format, each with `render(result, context)`.

A renderer yields chunks of text that end in newlines. It prints nothing, reads no environment and decides
nothing about findings; `Context` tells it what it is written for.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from torchrepro_lint.records import NamedTuple

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result

RENDERERS = {
    "full": "torchrepro_lint.report.full",
    "grouped": "torchrepro_lint.report.grouped",
    "concise": "torchrepro_lint.report.concise",
    "json": "torchrepro_lint.report.json_list",
    "sarif": "torchrepro_lint.report.sarif",
    "github": "torchrepro_lint.report.github",
    "gitlab": "torchrepro_lint.report.gitlab",
    "junit": "torchrepro_lint.report.junit",
    "rdjson": "torchrepro_lint.report.rdjson",
    "markdown": "torchrepro_lint.report.markdown",
    "html": "torchrepro_lint.report.html",
}
FOR_PEOPLE = ("full", "grouped", "concise")
WITH_EDITS = frozenset({"json", "sarif", "rdjson"})
"""The formats that tell what a fix changes, not only that there is one."""


class Context(NamedTuple):
    """What the text is written for: `width` in columns, paths shown from `cwd`, `fixing` after a --fix.

    What is `quiet` has findings and no summary; `statistics` asks for the counts of every rule.
    """

    color: bool
    width: int
    cwd: Path
    fixing: bool
    quiet: bool = False
    statistics: bool = False


class Renderer(Protocol):
    """The one function of a format's module."""

    def __call__(self, result: Result, context: Context) -> Iterator[str]: ...


def renderer(output_format: str) -> Renderer:
    """The `render` of a format; its module is imported now, and no other."""
    return cast(Renderer, import_module(RENDERERS[output_format]).render)
