"""Which of the findings a run of `check` leaves out, as its options and settings ask, and the baseline it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.streams import Failure, complain
from torchrepro_lint.engine import Narrowing, Request, Run
from torchrepro_lint.narrowing import CERTAIN_ENOUGH, IN_GIVEN_FILES, Known, configured_baseline, root_of
from torchrepro_lint.report.summary import counted

if TYPE_CHECKING:
    from torchrepro_lint.model import Finding


def narrowed(options: Options, request: Request) -> tuple[Request, Known | None]:
    """The request with all that leaves findings out, and the baseline if there is one."""
    known = _known(options, request)
    found = [known.narrowing] if known is not None else []
    if options.changed_since is not None:
        found.append(_changed(options.changed_since, request))
    found.append(CERTAIN_ENOUGH)
    if options.only_given:
        found.append(IN_GIVEN_FILES)
    return request._replace(narrowings=tuple(found)), known


def conclude(options: Options, known: Known) -> None:
    """Write the baseline if that was asked for, else say what it could do without."""
    match = known.match
    if options.write_baseline is None:
        if match.fixed:
            are, them = ("is", "it") if len(match.fixed) == 1 else ("are", "them")
            complain(
                f"{counted(len(match.fixed), 'known finding')} {are} not found any more: "
                f"--write-baseline takes {them} out of {known.baseline.path.name}"
            )
        return
    renewed = known.renewed()
    _write(options.write_baseline, renewed.text())
    added = len(match.new) if known.grows else 0
    changes = [f"{number} {what}" for number, what in ((added, "added"), (len(match.fixed), "taken out")) if number]
    if not options.quiet:
        told = f" ({', '.join(changes)})" if changes else ""
        complain(f"{options.write_baseline}: {counted(len(renewed.entries), 'known finding')}{told}")
    if match.new and not known.grows:
        complain(f"{counted(len(match.new), 'new finding')} left as new: --extend-baseline would add them")


def _write(path: Path, text: str) -> None:
    """All of the file or none."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8", newline="\n")
        new.replace(path)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise Failure(f"--write-baseline: cannot write {path}: {error.strerror}") from None


def _known(options: Options, request: Request) -> Known | None:
    path = configured_baseline(request)
    if options.write_baseline is not None:
        path = options.write_baseline.absolute()
    if options.no_baseline or path is None:
        return None
    from torchrepro_lint.baseline import Baseline, BaselineError

    if options.write_baseline is not None and not path.exists():
        return Known(Baseline(path), grows=True)
    try:
        return Known(Baseline.read(path), grows=options.extend_baseline)
    except BaselineError as error:
        raise Failure(f"baseline: {error}") from None


def _changed(revision: str, request: Request) -> Narrowing:
    from torchrepro_lint.changes import since
    from torchrepro_lint.git import GitError

    def keep(run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
        try:
            return narrowing.keep(run, findings)
        except GitError as error:
            raise Failure(f"--changed-since: {error}") from None

    try:
        narrowing = since(revision, request, root_of(request))
    except GitError as error:
        raise Failure(f"--changed-since: {error}") from None
    return narrowing._replace(keep=keep)
