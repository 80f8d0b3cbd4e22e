"""What `check` was asked to do, and which options contradict each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.records import NamedTuple

if TYPE_CHECKING:
    from torchrepro_lint.model import Finding

STDIN = Path("-")


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


class Options(NamedTuple):
    """The options of `check`, as they are where none is given; their help describes them."""

    paths: tuple[Path, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    fix: bool = False
    unsafe_fixes: bool = False
    fix_only: bool = False
    diff: bool = False
    output_format: str | None = None
    output_file: tuple[Output, ...] = ()
    statistics: bool = False
    timings: bool = False
    quiet: bool = False
    watch: bool = False
    color: str = "auto"
    baseline: Path | None = None
    no_baseline: bool = False
    write_baseline: Path | None = None
    extend_baseline: bool = False
    changed_since: str | None = None
    min_certainty: str | None = None
    only_given: bool = False
    add_noqa: str | None = None
    fail_on: Threshold = Threshold()
    exit_zero: bool = False
    stdin_filename: Path | None = None
    force_exclude: bool = False
    show_files: bool = False
    config: Path | None = None
    isolated: bool = False
    torch_version: str | None = None
    evidence: Path | None = None
    cache_dir: Path | None = None
    jobs: int | None = None
    no_cache: bool = False
    show_settings: bool = False

    def contradictions(self) -> Iterator[str]:
        """What is wrong with options that do not go together."""
        if STDIN in self.paths and len(self.paths) > 1:
            yield "the path - for the standard input stands alone"
        if self.stdin_filename and not self.stdin:
            yield "--stdin-filename needs the path -"
        if self.unsafe_fixes and not (self.fixing or self.diff):
            yield "--unsafe-fixes needs --fix, which writes the fixes, or --diff, which shows them"
        if self.isolated and self.config:
            yield "--isolated reads no configuration file, --config names one"
        if self.no_baseline and (self.baseline or self.write_baseline):
            yield "--no-baseline leaves out no known findings, --baseline and --write-baseline do"
        if self.extend_baseline and not self.write_baseline:
            yield "--extend-baseline needs --write-baseline, which says where"
        if sum(output.format is None for output in self.output_file) > 1:
            yield "of several --output-file, all but one need a format: --output-file sarif:FILE"
        if self.no_cache and self.cache_dir:
            yield "--no-cache keeps nothing, --cache-dir says where"
        yield from self._beside_watch()
        yield from self._for_stdin()
        yield from self._beside_add_noqa()

    def _beside_watch(self) -> Iterator[str]:
        for name in ("fix", "fix_only", "diff", "write_baseline", "add_noqa", "show_files", "show_settings"):
            if self.watch and getattr(self, name) not in (None, False):
                yield f"--watch only reports, again and again: it stands without --{name.replace('_', '-')}"
        if self.watch and self.stdin:
            yield "--watch looks at files, not at the standard input"

    def _for_stdin(self) -> Iterator[str]:
        for name in ("write_baseline", "changed_since", "add_noqa"):
            if self.stdin and getattr(self, name) is not None:
                yield f"--{name.replace('_', '-')} works on files, not on the standard input"

    def _beside_add_noqa(self) -> Iterator[str]:
        if self.add_noqa is not None and (self.fix or self.fix_only or self.write_baseline):
            yield "--add-noqa stands without --fix, --fix-only and --write-baseline"
        if self.add_noqa is not None and not self.add_noqa.isprintable():
            yield "the reason of --add-noqa is one line of text"

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
