"""The values of options of `check`, from words of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from torchrepro_lint.cli.options import Output, Threshold
from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.report import RENDERERS

MAX_JOBS = 256


def threshold(ctx: click.Context, parameter: click.Parameter, value: str) -> Threshold:
    """`warning`, `certain`, or both with a comma between them."""
    found = Threshold()
    for word in value.split(","):
        match word.strip():
            case "error" | "warning" as level:
                found = found._replace(level=Level(level))
            case "certain" | "likely" as certainty:
                found = found._replace(certainty=Certainty(certainty))
            case other:
                raise click.BadParameter(f"{other!r} is none of error, warning, certain and likely")
    return found


def jobs(ctx: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """A number of processes, None for `auto`."""
    if value == "auto":
        return None
    if not value.isdecimal() or not 0 < int(value) <= MAX_JOBS:
        raise click.BadParameter(f"{value!r} is neither auto nor a number from 1 to {MAX_JOBS}")
    return int(value)


def outputs(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[Output, ...]:
    """Each FILE or FORMAT:FILE. What stands before the colon is a format only if there is one of that name."""
    return tuple(map(_output, value))


def _output(text: str) -> Output:
    name, colon, path = text.partition(":")
    if colon and name in RENDERERS:
        if not path:
            raise click.BadParameter(f"{text!r} names no file")
        return Output(name, Path(path))
    return Output(None, Path(text))


def split(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """The rules in an option that may be repeated and holds a comma-separated list."""
    rules = tuple(rule.strip() for text in value for rule in text.split(",") if rule.strip())
    if value and not rules:
        raise click.BadParameter("names no rule")
    return rules
