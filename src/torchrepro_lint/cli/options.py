"""What `check` was asked to do, and which options contradict each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from torchrepro_lint.model import Certainty, Finding, Level

STDIN = Path("-")
MAX_JOBS = 256


class Threshold(NamedTuple):
    """What makes the exit code 1: findings of at least this level, and at least this certain."""

    level: Level = Level.WARNING
    certainty: Certainty = Certainty.DEPENDS

    def reached(self, finding: Finding) -> bool:
        """Whether the finding counts."""
        return finding.level.rank >= self.level.rank and finding.certainty.rank >= self.certainty.rank


class Output(NamedTuple):
    """A report to write to a file; `format` is None where --output-format decides."""

    format: str | None
    path: Path


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
    from torchrepro_lint.report import RENDERERS

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
    output_file: tuple[Output, ...]
    statistics: bool
    timings: bool
    quiet: bool
    watch: bool
    color: str
    baseline: Path | None
    no_baseline: bool
    write_baseline: Path | None
    extend_baseline: bool
    changed_since: str | None
    min_certainty: str | None
    only_given: bool
    add_noqa: str | None
    fail_on: Threshold
    exit_zero: bool
    stdin_filename: Path | None
    force_exclude: bool
    show_files: bool
    config: Path | None
    isolated: bool
    torch_version: str | None
    evidence: Path | None
    cache_dir: Path | None
    jobs: int | None
    no_cache: bool
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
        if self.no_baseline and (self.baseline or self.write_baseline):
            raise click.UsageError("--no-baseline leaves out no known findings, --baseline and --write-baseline do")
        if self.extend_baseline and not self.write_baseline:
            raise click.UsageError("--extend-baseline needs --write-baseline, which says where")
        if sum(output.format is None for output in self.output_file) > 1:
            raise click.UsageError("of several --output-file, all but one need a format: --output-file sarif:FILE")
        if self.no_cache and self.cache_dir:
            raise click.UsageError("--no-cache keeps nothing, --cache-dir says where")
        self._refuse_beside_watch()
        self._refuse_for_stdin()
        self._refuse_beside_add_noqa()

    def _refuse_beside_watch(self) -> None:
        for name in ("fix", "fix_only", "diff", "write_baseline", "add_noqa", "show_files", "show_settings"):
            if self.watch and getattr(self, name) not in (None, False):
                raise click.UsageError(
                    f"--watch only reports, again and again: it stands without --{name.replace('_', '-')}"
                )
        if self.watch and self.stdin:
            raise click.UsageError("--watch looks at files, not at the standard input")

    def _refuse_for_stdin(self) -> None:
        for name in ("write_baseline", "changed_since", "add_noqa"):
            if self.stdin and getattr(self, name) is not None:
                raise click.UsageError(f"--{name.replace('_', '-')} works on files, not on the standard input")

    def _refuse_beside_add_noqa(self) -> None:
        if self.add_noqa is not None and (self.fix or self.fix_only or self.write_baseline):
            raise click.UsageError("--add-noqa stands without --fix, --fix-only and --write-baseline")
        if self.add_noqa is not None and not self.add_noqa.isprintable():
            raise click.UsageError("the reason of --add-noqa is one line of text")

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
        if self.baseline is not None:
            values["baseline"] = str(self.baseline.absolute())
        if self.min_certainty is not None:
            values["min-certainty"] = self.min_certainty
        return values
