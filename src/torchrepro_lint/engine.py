"""One run: files -> facts -> checks -> findings, suppressed, completed and sorted. Prints nothing.

`check` only looks; `fix` (in `repair`) repeats it over changed text. The one place where a crash of a check is
caught: it becomes a TRP003 finding, and everything else goes on.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint import ISSUES, __version__, cards, checks, selection
from torchrepro_lint.completion import complete, fill, tool_finding, unused_suppression, with_fingerprints
from torchrepro_lint.discover import Reach, discover, project_root, python_files
from torchrepro_lint.index import ModuleFacts, ParseError, build
from torchrepro_lint.model import Finding, Level, Position, Safety
from torchrepro_lint.program import Module, Program
from torchrepro_lint.settings import Settings, SettingsError, SettingsResolver, project_torch
from torchrepro_lint.source import SourceError, SourceFile, read_source, source_from_text
from torchrepro_lint.suppression import Suppressor
from torchrepro_lint.time_limit import TimeLimitError, limited

if TYPE_CHECKING:
    from torchrepro_lint.evidence import Measured

Progress = Callable[[int, int], None]
MAX_GIVEN = 64  # files by name, as pre-commit gives them
MAX_FRAMES = 5  # of a crash that are told
ENGINE_CODES = ("TRP001", "TRP002", "TRP003")


class Request(NamedTuple):
    """What to check: paths, whose settings, and text that stands in for a file (stdin, or not yet written)."""

    paths: tuple[Path, ...]
    resolver: SettingsResolver
    torch_version: str | None = None
    force_exclude: bool = False
    stdin: tuple[str, Path] | None = None


@dataclass(slots=True, eq=False, repr=False)
class Result:
    """What a run found. `findings` are sorted; `files` are relative to `root`."""

    root: Path
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    missing: tuple[Path, ...] = ()
    statistics: Mapping[str, int] = field(default_factory=dict)
    fixed: int = 0
    made_unsafe: bool = False
    not_fixed: tuple[str, ...] = ()
    outside: tuple[Path, ...] = ()
    diffs: tuple[tuple[str, str], ...] = ()
    fixed_text: str | None = None
    problems: tuple[str, ...] = ()
    _text_of: Mapping[Path, str] = field(default_factory=dict)

    @property
    def fixable(self) -> int:
        """How many findings have a safe fix."""
        return self._with_fix(Safety.SAFE)

    @property
    def unsafe_fixable(self) -> int:
        """How many findings have a fix that needs --unsafe-fixes, none when those were made."""
        return 0 if self.made_unsafe else self._with_fix(Safety.UNSAFE)

    def _with_fix(self, safety: Safety) -> int:
        """Findings with such a fix, in the checked files alone: no other is written."""
        fixes = [f.fix for f in self.findings if f.fix is not None and f.fix.safety is safety]
        return sum(all(edit.path in self.files for edit in fix.edits) for fix in fixes)

    @property
    def errors(self) -> bool:
        """Whether something could not be done: a path is missing, a file unreadable, a check crashed."""
        return bool(self.missing or self.problems) or any(f.code in ("TRP001", "TRP003") for f in self.findings)

    def source(self, rel: str) -> SourceFile | None:
        """The text that the findings in `rel` speak of."""
        path = self.root / rel
        try:
            if path in self._text_of:
                return source_from_text(self._text_of[path], path, rel)
            return read_source(path, rel)
        except SourceError:
            return None


class Run:
    """Checks files of one project; `overlay` holds text that stands in for what is on disk."""

    def __init__(self, request: Request, overlay: Mapping[Path, str] | None = None) -> None:
        self.request = request
        self.overlay: dict[Path, str] = dict(overlay or {})
        paths = [request.stdin[1]] if request.stdin else request.paths
        self.root = project_root(paths)
        found = discover(request.paths, request.resolver.for_path, force_exclude=request.force_exclude)
        self.files, self.missing = found.files, found.missing
        self.problems = [f"{path}: {reason}" for path, reason in found.unreadable]
        self.outside = found.outside
        if request.stdin:
            text, path = request.stdin
            self.overlay.setdefault(path, text)
            self.files = (path,)
        self.by_rel = {self.rel(path): path for path in self.files}
        self._asked = frozenset(self.files)
        self._failures: dict[Path, Finding] = {}
        self._seen: dict[Path, int] = {}
        self._other: Suppressor | None = None
        settings = request.resolver.for_path(self.root / "pyproject.toml")
        self._max_size = settings.max_file_size * 1_000_000
        self._seconds = settings.max_file_seconds
        self._too_slow: set[Path] = set()
        declared = project_torch(self.root, self._refused)  # now: a broken pyproject.toml ends the run, not a check
        self._reach = Reach([self.root, *(settings.base / s for s in settings.src)])
        self._settings = settings
        self._declared_torch = declared
        self._evidence = _own_evidence(settings)
        self.program = self._new_program()

    def _new_program(self) -> Program:
        settings, declared = self._settings, self._declared_torch
        program = Program(
            self.root,
            self.read,
            files=lambda: python_files(self.root, settings),
            sources=[settings.base / s for s in settings.src],
            torch_version=lambda: self.request.torch_version or settings.torch or declared,
            seed=settings.seed,
            seed_functions=settings.seed_functions,
            loader_classes=settings.loader_classes,
            rng_functions=settings.rng_functions,
            evidence=self._evidence,
        )
        for path, text in self.overlay.items():
            program.change(path, text)
        return program

    def _refused(self, path: Path, reason: str) -> None:
        """A list of requirements cannot be read: what it asks for is not known, and everything else goes on."""
        self.problems.append(f"{path}: cannot be read: {reason}")

    def rel(self, path: Path) -> str:
        """`path` as findings name it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def read(self, path: Path) -> ModuleFacts | None:
        """Read and index one file; a failure is kept, to be reported if the file was asked for. What an import reaches
        through a link out of the project is as if it were not there."""
        if path not in self._asked and not self._reach.includes(path):
            return None
        try:
            source = self._source(path)
            if path not in self.overlay:
                self._seen.setdefault(path, hash(source.document))
            return build(source)
        except (SourceError, ParseError) as error:
            where = error.position or Position(1, 1)
            self._failures[path] = tool_finding("TRP001", self.rel(path), where, error.message)
            return None

    def source(self, path: Path) -> SourceFile:
        """The text of a file as it was checked; ConflictError if it has changed on disk since."""
        from torchrepro_lint.fixing import ConflictError

        try:
            source = self._source(path)
        except SourceError:
            raise ConflictError(path) from None
        if path not in self.overlay and self._seen.get(path, hash(source.document)) != hash(source.document):
            raise ConflictError(path)
        return source

    def _source(self, path: Path) -> SourceFile:
        if path in self.overlay:
            return source_from_text(self.overlay[path], path, self.rel(path))
        return read_source(path, self.rel(path), self._max_size)

    def failure(self, path: Path) -> str:
        """Why the file could not be read."""
        found = self._failures.get(path)
        return f"line {found.location.range.start.line}: {found.message}" if found is not None else "not read"

    def change(self, path: Path, text: str | None) -> None:
        """Let `text` stand in for the file from now on; None for what is on disk."""
        if text is None:
            self.overlay.pop(path, None)
        else:
            self.overlay[path] = text
        self._failures.pop(path, None)
        self.program.change(path, text)

    def check_file(self, path: Path) -> list[Finding]:
        """All findings of one file, in no particular order; none of one that takes too long, which is a problem."""
        if path in self._too_slow:
            return []
        try:
            with limited(self._seconds):
                return _guarded("the engine", self.rel(path), lambda: self._checked(path))
        except TimeLimitError:
            self._too_slow.add(path)
            limit = f"the {self._seconds} s that the setting max-file-seconds allows"
            self.problems.append(f"{self.rel(path)}: not checked, since it takes longer than {limit}")
            self.program = self._new_program()  # what was being worked out may be half done
            return []

    def _checked(self, path: Path) -> list[Finding]:
        enabled = selection.enabled(self.request.resolver.for_path(path), path)
        facts = self.program.load(str(path))
        if facts is None:
            return [self._failures[path]] if path in self._failures else []
        suppressor = Suppressor(facts.source, facts, cards.codes(), enabled)
        module = self.program.module(facts)
        findings: list[Finding] = []
        for code, check in checks.load(selection.worth_a_look(enabled, facts.source.text)):
            findings += _guarded(code, facts.source.rel, partial(self._found, code, check, module, suppressor))
        if "TRP002" in enabled:
            findings += [unused_suppression(facts.source, unused) for unused in suppressor.unused()]
        return findings

    def _found(self, code: str, check: checks.Check, module: Module, suppressor: Suppressor) -> list[Finding]:
        """What one rule finds in one file, without what a comment silences."""
        return [
            self._without_silenced_edits(complete(code, draft, module.facts), suppressor)
            for draft in check(module, self.program)
            if not suppressor.silences(code, _line(module.facts, draft))
        ]

    def _without_silenced_edits(self, finding: Finding, here: Suppressor) -> Finding:
        """The finding, without its fix where that would edit a line on which its rule is suppressed."""
        for edit in finding.fix.edits if finding.fix is not None else ():
            facts = self.program.load(str(self.root / edit.path)) if edit.path != here.source.rel else here.facts
            if facts is None:
                return finding._replace(fix=None)
            there = here if facts is here.facts else self._suppressor_of(facts)
            if any(there.silences(finding.code, line) for line in there.touched(edit)):
                return finding._replace(fix=None)
        return finding

    def _suppressor_of(self, facts: ModuleFacts) -> Suppressor:
        """Of another file than the one that is checked: the last one is kept, since many fixes edit the same."""
        if self._other is None or self._other.facts is not facts:
            self._other = Suppressor(facts.source, facts, cards.codes(), ())
        return self._other


def check(request: Request, progress: Progress | None = None) -> Result:
    """Check all files that the paths name."""
    run = Run(request)
    findings = check_files(run, run.files, progress)
    return finish(run, findings | check_users(run))


def check_files(run: Run, files: Sequence[Path], progress: Progress | None = None) -> dict[Path, list[Finding]]:
    """The findings of each file. The cyclic garbage collector is off: syntax trees make it slow, and the program
    frees what it drops by itself."""
    findings: dict[Path, list[Finding]] = {}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for number, path in enumerate(files, 1):
            findings[path] = run.check_file(path)
            run.program.release()
            if progress is not None:
                progress(number, len(files))
    finally:
        if was_enabled:
            gc.enable()
    return findings


def check_users(run: Run) -> dict[Path, list[Finding]]:
    """Of the files that use those checked, the findings that have a related place in one of these: an entry point
    reports what it draws elsewhere. Not for a text from an editor, nor for so many files that all are checked."""
    if run.request.stdin is not None or len(run.files) > MAX_GIVEN:
        return {}
    found = check_files(run, run.program.users(run.files))
    return {
        path: [f for f in group if any(r.location.path in run.by_rel for r in f.related)]
        for path, group in found.items()
    }


def finish(run: Run, findings: Mapping[Path, Sequence[Finding]]) -> Result:
    """Sort, fingerprint and count."""
    flat = sorted((f for group in findings.values() for f in group), key=lambda f: f.sort_key)
    result = Result(run.root, files=tuple(run.rel(f) for f in run.files), missing=run.missing, _text_of=run.overlay)
    result.problems = tuple(run.problems)
    result.outside = run.outside
    source = lru_cache(maxsize=8)(result.source)
    result.findings = tuple(with_fingerprints(flat, source))
    result.statistics = dict(sorted(Counter(f.code for f in flat).items())) | run.program.bounds()
    return result


def _own_evidence(settings: Settings) -> Sequence[Measured]:
    """What the user measured; SettingsError for a file that cannot be read."""
    if settings.evidence is None:
        return ()
    from torchrepro_lint.evidence import EvidenceError, read

    try:
        return read(settings.base / settings.evidence)
    except EvidenceError as error:
        raise SettingsError(f"{settings.origin('evidence')}: {error}") from None


def _line(facts: ModuleFacts, draft: checks.Draft) -> int:
    from torchrepro_lint.completion import shown_range

    return shown_range(facts, draft.node).start.line


def _guarded(rule: str, rel: str, work: Callable[[], list[Finding]]) -> list[Finding]:
    """What `work` finds; a crash of it is a finding, and everything else goes on."""
    try:
        return work()
    except Exception as error:
        return [_crash(rule, rel, error)]


def _crash(rule: str, rel: str, error: Exception) -> Finding:
    """TRP003, with all that whoever mends it needs to know."""
    import platform
    from traceback import extract_tb

    frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(extract_tb(error.__traceback__))]
    told = {
        "rule": rule,
        "error": f"{type(error).__name__}: {error}",
        "place": " < ".join(tuple(dict.fromkeys(frames))[:MAX_FRAMES]),
        "versions": f"torchrepro-lint {__version__}, Python {platform.python_version()}",
        "address": ISSUES,
    }
    return tool_finding("TRP003", rel, Position(1, 1), fill(cards.load_card("TRP003").message, told))


__all__ = ["ENGINE_CODES", "Level", "Progress", "Request", "Result", "Run", "check", "check_files", "finish"]
