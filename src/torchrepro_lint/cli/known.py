"""Which of the findings a run of `check` leaves out, as its options and settings ask, and the baseline it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.streams import Failure, complain, write_file
from torchrepro_lint.discover import project_root
from torchrepro_lint.engine import IN_BASELINE, Narrowing, Request, Run
from torchrepro_lint.model import Certainty, Finding
from torchrepro_lint.report.summary import counted

if TYPE_CHECKING:
    from torchrepro_lint.baseline import Baseline, Match


class Known:
    """The baseline of a run, and what it came to cover."""

    def __init__(self, options: Options, baseline: Baseline, *, grows: bool) -> None:
        self.options = options
        self.baseline = baseline
        self.grows = grows
        self._run: Run | None = None
        self._match: Match | None = None

    def keep(self, run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
        """What the baseline does not cover; nothing where it takes in all."""
        self._run, self._match = run, (match := self.baseline.match(findings, run))
        return () if self.grows else match.new

    def conclude(self) -> None:
        """Write the file if that was asked for, else say what it could do without."""
        run, match = self._run, self._match
        assert run is not None and match is not None, "asked before the run"
        target = self.options.write_baseline
        if target is None:
            if match.fixed:
                are, them = ("is", "it") if len(match.fixed) == 1 else ("are", "them")
                complain(
                    f"{counted(len(match.fixed), 'known finding')} {are} not found any more: "
                    f"--write-baseline takes {them} out of {self.baseline.path.name}"
                )
            return
        covered = (*match.new, *match.known) if self.grows else match.known
        written = self.baseline.of(sorted(covered, key=lambda f: f.sort_key), match.unjudged, run)
        write_file(target, [written.text()], "--write-baseline")
        added, gone = len(match.new) if self.grows else 0, len(match.fixed)
        changes = [f"{number} {what}" for number, what in ((added, "added"), (gone, "taken out")) if number]
        told = f" ({', '.join(changes)})" if changes else ""
        if not self.options.quiet:
            complain(f"{target}: {counted(len(written.entries), 'known finding')}{told}")
        if match.new and not self.grows:
            complain(f"{counted(len(match.new), 'new finding')} left as new: --extend-baseline would add them")


def narrowings(options: Options, request: Request) -> tuple[Request, Known | None]:
    """The request with all that leaves findings out, and the baseline if there is one."""
    root = project_root([request.stdin[1]] if request.stdin else request.paths)
    known = _known(options, request, root)
    found = [Narrowing(IN_BASELINE, known.keep)] if known is not None else []
    if options.changed_since is not None:
        found.append(_changed(options.changed_since, request, root))
    found.append(Narrowing("less certain than asked for", _certain_enough))
    if options.only_given:
        found.append(Narrowing("of files that were not given", _in_given_files))
    return request._replace(narrowings=tuple(found)), known


def _known(options: Options, request: Request, root: Path) -> Known | None:
    settings = request.resolver.for_path(root / "pyproject.toml")
    if options.no_baseline or (settings.baseline is None and options.write_baseline is None):
        return None
    from torchrepro_lint.baseline import Baseline, BaselineError

    path = settings.base / (settings.baseline or "")
    if options.write_baseline is not None:
        path = options.write_baseline.absolute()
        if not path.exists():
            return Known(options, Baseline(path), grows=True)
    try:
        return Known(options, Baseline.read(path), grows=options.extend_baseline)
    except BaselineError as error:
        raise Failure(f"baseline: {error}") from None


def _changed(revision: str, request: Request, root: Path) -> Narrowing:
    from torchrepro_lint.changes import since
    from torchrepro_lint.git import GitError

    def keep(run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
        try:
            return narrowing.keep(run, findings)
        except GitError as error:
            raise Failure(f"--changed-since: {error}") from None

    try:
        narrowing = since(revision, request, root)
    except GitError as error:
        raise Failure(f"--changed-since: {error}") from None
    return narrowing._replace(keep=keep)


def _certain_enough(run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [f for f in findings if f.certainty.rank >= _least(run, f.location.path).rank]


def _least(run: Run, rel: str) -> Certainty:
    return Certainty(run.request.resolver.for_path(run.root / rel).min_certainty)


def _in_given_files(run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [f for f in findings if {f.location.path, *_edited(f)} <= run.by_rel.keys()]


def _edited(finding: Finding) -> set[str]:
    return {edit.path for edit in finding.fix.edits} if finding.fix is not None else set()
