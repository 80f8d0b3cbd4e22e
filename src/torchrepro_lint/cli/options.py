"""What `check` was asked to do, and which options contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

STDIN = Path("-")


def split(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """The rules in an option that may be repeated and holds a comma-separated list."""
    rules = tuple(rule.strip() for text in value for rule in text.split(",") if rule.strip())
    if value and not rules:
        raise click.BadParameter("names no rule")
    return rules


class Options(NamedTuple):
    """The options of `check`; their help describes them."""

    paths: tuple[Path, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    extend_select: tuple[str, ...]
    fix: bool
    unsafe_fixes: bool
    fix_only: bool
    diff: bool
    output_format: str | None
    output_file: Path | None
    statistics: bool
    color: str
    fail_on: str
    exit_zero: bool
    stdin_filename: Path | None
    force_exclude: bool
    show_files: bool
    config: Path | None
    isolated: bool
    torch_version: str | None
    evidence: Path | None
    show_settings: bool

    def refuse_contradictions(self) -> None:
        """Raise UsageError for options that do not go together."""
        if STDIN in self.paths and len(self.paths) > 1:
            raise click.UsageError("the path - for the standard input stands alone")
        if self.stdin_filename and not self.stdin:
            raise click.UsageError("--stdin-filename needs the path -")
        if self.unsafe_fixes and not (self.fixing or self.diff):
            raise click.UsageError("--unsafe-fixes needs --fix, which writes the fixes, or --diff, which shows them")
        if self.isolated and self.config:
            raise click.UsageError("--isolated reads no configuration file, --config names one")

    @property
    def stdin(self) -> bool:
        """Whether the source comes from the standard input."""
        return self.paths == (STDIN,)

    @property
    def fixing(self) -> bool:
        """Whether fixes are to be written."""
        return (self.fix or self.fix_only) and not self.diff

    @property
    def roots(self) -> tuple[Path, ...]:
        """The paths to look under."""
        return self.paths or (Path(),)

    @property
    def overrides(self) -> dict[str, object]:
        """What the command line says about settings, under the keys of a configuration file."""
        given = {"select": self.select, "ignore": self.ignore, "extend-select": self.extend_select}
        values: dict[str, object] = {key: rules for key, rules in given.items() if rules}
        if self.torch_version is not None:
            values["torch"] = self.torch_version
        if self.evidence is not None:
            values["evidence"] = str(self.evidence.absolute())
        return values
