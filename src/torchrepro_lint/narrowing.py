"""Which of the findings of a run are reported: not those that are known, too uncertain, or of other files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.discover import project_root
from torchrepro_lint.elements import Certainty
from torchrepro_lint.engine import IN_BASELINE, Narrowing, Request, Run

if TYPE_CHECKING:
    from torchrepro_lint.baseline import Baseline, Match
    from torchrepro_lint.model import Finding


class Known:
    """The baseline of a run, and what it came to cover: everything, where it `grows`."""

    def __init__(self, baseline: Baseline, *, grows: bool = False) -> None:
        self.baseline = baseline
        self.grows = grows
        self._run: Run | None = None
        self._match: Match | None = None

    @property
    def narrowing(self) -> Narrowing:
        """What leaves the known findings out."""
        return Narrowing(IN_BASELINE, self._keep)

    @property
    def match(self) -> Match:
        """The findings of the run that has ended against the baseline."""
        assert self._match is not None, "asked before the run"
        return self._match

    def renewed(self) -> Baseline:
        """The baseline as it should be after the run: without what is gone, with what is new where it grows."""
        assert self._run is not None, "asked before the run"
        covered = (*self.match.new, *self.match.known) if self.grows else self.match.known
        return self.baseline.of(sorted(covered, key=lambda f: f.sort_key), self.match.unjudged, self._run)

    def _keep(self, run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
        self._run, self._match = run, self.baseline.match(findings, run)
        return () if self.grows else self._match.new


def root_of(request: Request) -> Path:
    """The root of the project that a request is about."""
    return request.root or project_root([request.stdin[1]] if request.stdin else request.paths)


def configured_baseline(request: Request) -> Path | None:
    """The file of known findings that the settings of the project's root name."""
    settings = request.resolver.for_path(root_of(request) / "pyproject.toml")
    return settings.base / settings.baseline if settings.baseline is not None else None


def as_configured(request: Request) -> tuple[Narrowing, ...]:
    """What the settings leave out. Raises BaselineError."""
    path = configured_baseline(request)
    if path is None:
        return (CERTAIN_ENOUGH,)
    from torchrepro_lint.baseline import Baseline

    return Known(Baseline.read(path)).narrowing, CERTAIN_ENOUGH


def _certain_enough(run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
    least = {rel: _least(run, rel).rank for rel in {f.location.path for f in findings}}
    return [f for f in findings if f.certainty.rank >= least[f.location.path]]


def _least(run: Run, rel: str) -> Certainty:
    return Certainty(run.request.resolver.for_path(run.root / rel).min_certainty)


def _in_given_files(run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
    return [f for f in findings if all(run.path_of(rel) for rel in {f.location.path, *f.edited})]


CERTAIN_ENOUGH = Narrowing("less certain than asked for", _certain_enough)
IN_GIVEN_FILES = Narrowing("of files that were not given", _in_given_files)
