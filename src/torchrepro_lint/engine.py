"""One run: files -> facts -> checks -> findings, suppressed, completed and sorted. Prints nothing.

`check` only looks; `fix` (in `repair`) repeats it over changed text. The one place where a crash of a check is
caught: it becomes a TRP003 finding, and everything else goes on.
"""

from __future__ import annotations

import ast
import gc
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from torchrepro_lint import ISSUES, __version__, cards, checks, selection
from torchrepro_lint.cache.encoding import decoded, encoded
from torchrepro_lint.completion import complete, fill, no_python, tool_finding, unused_suppression
from torchrepro_lint.dataflow.calls import Module
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import COUNTED
from torchrepro_lint.discover import configuration_files, discover, native_files, project_root, python_files
from torchrepro_lint.index import ModuleFacts, ParseError, build
from torchrepro_lint.model import Edit, Finding, Level, Position, Safety
from torchrepro_lint.project.project import Project
from torchrepro_lint.project.text import MAX_BYTES
from torchrepro_lint.reading import read_regular
from torchrepro_lint.settings import Settings, SettingsError, project_torch
from torchrepro_lint.source import CONFIGURATIONS, PLOTS, SourceError, SourceFile, read_source, source_from_text
from torchrepro_lint.suppression import Suppressor
from torchrepro_lint.time_limit import TimeLimitError, limited
from torchrepro_lint.timings import Timings
from torchrepro_lint.tracking import Question, Tracker, Untracked, bits, numbers

if TYPE_CHECKING:
    from torchrepro_lint.cache import Cache
    from torchrepro_lint.evidence import Measured
    from torchrepro_lint.pool import Lost
    from torchrepro_lint.timings import Kind

Progress = Callable[[int, int], None]
MAX_GIVEN = 64  # files by name, as pre-commit gives them
MIN_FILES = 24  # that are worth a process: it reads again what others have read
MAX_FRAMES = 5  # of a crash that are told
# Settings that decide for single files; which rules they enable stands with the findings of each.
_OF_FILES: dict[str, Any] = {"select": None, "ignore": (), "extend_select": (), "per_file_ignores": (),
                             "baseline": None, "min_certainty": "", "max_file_seconds": 0, "cache_dir": ""}  # fmt: skip
ENGINE_CODES = ("TRP001", "TRP002", "TRP003", "TRP004")
IN_BASELINE = "in the baseline"  # a reason to leave a finding out that reports for programs tell
_NONE: Mapping[Any, Any] = MappingProxyType({})
FAILURES = ("TRP001", "TRP003")  # work that was not done: whatever is left out of a report, not these


class Narrowing(NamedTuple):
    """Which of all findings are reported, and fixed. `reason` names the option that leaves the others out; `keep`
    is asked for sorted findings, again in each round of fixes."""

    reason: str
    keep: Callable[[Run, Sequence[Finding]], Sequence[Finding]]


class SettingsSource(Protocol):
    """Where the settings of a path come from."""

    def for_path(self, path: Path) -> Settings: ...


class Request(NamedTuple):
    """What to check: paths, whose settings, and text that stands in for a file (stdin, or not yet written).

    `root` is found from the paths unless it is given. With `keep_suppressed` the result has what comments silence, with
    `tell_programs` which programs the files of findings belong to. `cache` is the folder that keeps what is found, True
    for the one that the settings name; `jobs` is the number of processes, None for what suits the machine;
    `timings` is told where the time goes.
    """

    paths: tuple[Path, ...]
    resolver: SettingsSource
    torch_version: str | None = None
    force_exclude: bool = False
    stdin: tuple[str, Path] | None = None
    root: Path | None = None
    narrowings: tuple[Narrowing, ...] = ()
    keep_suppressed: bool = False
    tell_programs: bool = False
    cache: Path | Literal[True] | None = None
    jobs: int | None = 1
    timings: Timings | None = None


class Result(NamedTuple):
    """What a run found. `findings` are sorted; `files` are relative to `root`.

    `left_out` has what is not reported, by the reason of the narrowing; `suppressed` what comments silence;
    `programs` for each file the checked files that start a program it belongs to. The last two where asked for. `texts`
    stand in for files, `configurations` are those that fixes may edit.
    """

    root: Path
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    missing: tuple[Path, ...] = ()
    statistics: Mapping[str, int] = _NONE
    fixed: int = 0
    made_unsafe: bool = False
    not_fixed: tuple[str, ...] = ()
    outside: tuple[Path, ...] = ()
    diffs: tuple[tuple[str, str], ...] = ()
    fixed_text: str | None = None
    problems: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[Finding, ...]] = _NONE
    suppressed: tuple[Finding, ...] = ()
    programs: Mapping[str, tuple[str, ...]] = _NONE
    texts: Mapping[Path, str] = _NONE
    configurations: frozenset[str] = frozenset()

    @property
    def fixable(self) -> int:
        """How many findings have a safe fix."""
        return self._with_fix(Safety.SAFE)

    @property
    def unsafe_fixable(self) -> int:
        """How many findings have a fix that needs --unsafe-fixes, none when those were made."""
        return 0 if self.made_unsafe else self._with_fix(Safety.UNSAFE)

    def _with_fix(self, safety: Safety) -> int:
        """Findings with such a fix, in the checked files and what configures them: no other is written."""
        writable = {*self.files, *self.configurations}
        fixes = [f.fix for f in self.findings if f.fix is not None and f.fix.safety is safety]
        return sum(all(edit.path in writable for edit in fix.edits) for fix in fixes)

    @property
    def errors(self) -> bool:
        """Whether something could not be done: a path is missing, a file unreadable, a check crashed."""
        return bool(self.missing or self.problems) or any(f.code in FAILURES for f in self.findings)

    def source(self, rel: str) -> SourceFile | None:
        """The text that the findings in `rel` are about."""
        path = self.root / rel
        try:
            if path in self.texts:
                return source_from_text(self.texts[path], path, rel)
            return read_source(path, rel)
        except SourceError:
            return None


class Run:
    """Checks files of one project; `overlay` holds text that stands in for what is on disk."""

    def __init__(self, request: Request, overlay: Mapping[Path, str] | None = None) -> None:
        self.request = request
        self.overlay: dict[Path, str] = dict(overlay or {})
        paths = [request.stdin[1]] if request.stdin else request.paths
        self.root = request.root or project_root(paths)
        with self.timed("step", "finding files"):
            found = discover(request.paths, request.resolver.for_path, force_exclude=request.force_exclude)
        self.files, self.missing = found.files, found.missing
        self.problems = [f"{path}: {reason}" for path, reason in found.unreadable]
        self.outside = found.outside
        if request.stdin:
            text, path = request.stdin
            self.overlay.setdefault(path, text)
            self.files = (path,)
        self.by_rel = {self.rel(path): path for path in self.files}
        self.suppressed: dict[Path, list[Finding]] = {}
        self.is_fixing = False
        self._asked = frozenset(self.files)
        self._failures: dict[Path, Finding] = {}
        self._seen: dict[Path, int] = {}
        self._other: Suppressor | None = None
        self._asked_by: dict[int, list[int]] = {}  # the numbers that the questions of another process have here
        settings = request.resolver.for_path(self.root / "pyproject.toml")
        self._max_size = settings.max_file_size * 1_000_000
        self._seconds = settings.max_file_seconds
        self._too_slow: set[Path] = set()
        declared = project_torch(self.root, self._refused)  # now: a broken pyproject.toml ends the run, not a check
        self._settings = settings
        self._declared_torch = declared
        self._evidence = _own_evidence(settings)
        is_cached = request.cache is not None and not self.overlay
        self.tracker = Tracker() if is_cached or request.jobs != 1 else Untracked()
        self.program = self._new_program()
        with self.timed("step", "opening the cache"):
            self.cache = self._open_cache() if is_cached else None

    def timed(self, kind: Kind, name: str) -> AbstractContextManager[None]:
        """Count the time of a block where that is asked for."""
        return self.request.timings.of(kind, name) if self.request.timings is not None else nullcontext()

    def _new_program(self) -> Program:
        settings, declared = self._settings, self._declared_torch
        project = Project(
            self.root,
            self.read,
            files=lambda: python_files(self.root, settings),
            configurations=lambda: configuration_files(self.root, settings),
            native_files=lambda: native_files(self.root, settings),
            sources=[settings.base / s for s in settings.src],
            torch_version=lambda: self.request.torch_version or settings.torch or declared,
            seed=settings.seed,
            seed_functions=settings.seed_functions,
            loader_classes=settings.loader_classes,
            rng_functions=settings.rng_functions,
            tracker=self.tracker,
            refused=self._refused,
        )
        program = Program(project, self._evidence)
        for path, text in self.overlay.items():
            program.change(path, text)
        return program

    def _open_cache(self) -> Cache:
        from torchrepro_lint.cache import Cache
        from torchrepro_lint.cache.context import name_of

        settings, request = self._settings, self.request
        folder = self.root / settings.cache_dir if request.cache is True else Path(request.cache or ".").absolute()
        asked = request.torch_version, self._declared_torch, self._evidence
        return Cache(
            folder,
            name_of(folder, (self.root, settings._replace(origins=(), **_OF_FILES), *asked)),
            self.tracker,
            listing=lambda: python_files(self.root, settings),
            read=self.content,
            project=lambda: self.program.project,
        )

    def content(self, path: str) -> bytes | None:
        """The bytes of a file, None where they are not read."""
        if Path(path) not in self._asked and not self.program.project.reach.includes(path):
            return None
        try:
            return read_regular(path, max(self._max_size * PLOTS, MAX_BYTES))  # larger ones are never read
        except OSError:
            return None

    def _refused(self, path: Path, reason: str) -> None:
        """A list of requirements cannot be read: what it asks for is not known, and everything else goes on."""
        problem = f"{path}: cannot be read: {reason}"
        if problem not in self.problems:
            self.problems.append(problem)

    def rel(self, path: Path) -> str:
        """`path` as findings name it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def read(self, path: Path) -> ModuleFacts | None:
        """Read and index one file; a failure is kept, to be reported if the file was asked for. What an import reaches
        through a link out of the project is as if it were not there."""
        if path not in self._asked and not self.program.project.reach.includes(path):
            return None
        source: SourceFile | None = None
        try:
            with self.timed("step", "reading and indexing"):
                source = self._source(path)
                if path not in self.overlay:
                    self._seen.setdefault(path, hash(source.document))
                return build(source, is_compact=self.program.project.files.are_many)
        except (SourceError, ParseError) as error:
            where = error.position or Position(1, 1)
            self._failures[path] = tool_finding("TRP001", self.rel(path), where, error.message, source)
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

    def text(self, path: Path) -> SourceFile | None:
        """The text of a file as it is now, None where it cannot be read."""
        try:
            return self._source(path)
        except SourceError:
            return None

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
        self.cache = None  # which knows files as they are on the disk
        self.program.change(path, text)

    def check_file(self, path: Path) -> list[Finding]:
        """All findings of one file, in no particular order; none of one that takes too long, which is a problem."""
        if path in self._too_slow:
            return []
        outer = self.tracker.begin()
        with self.timed("file", self.rel(path)):
            findings = self._checked_in_time(path)
        rests = self.tracker.end(outer)
        if path not in self._too_slow:
            self._keep(path, rests, findings)
        return findings

    def kept(self, path: Path) -> list[Finding] | None:
        """What an earlier run found in a file, where it holds. Edits are made of no text but the one that is read."""
        if self.cache is None:
            return None
        try:
            with limited(self._seconds):
                findings, suppressed = map(decoded, self.cache.answer(self._key(path)) or ())
        except (ValueError, TypeError):  # nothing is known, or what is kept is no finding
            return None
        except TimeLimitError:  # a cache that nobody of us wrote
            self.cache = None
            return None
        if self.is_fixing and any(finding.fix is not None for finding in findings):
            return None
        if not all(self._is_about(path, finding) for finding in (*findings, *suppressed)):
            return None
        self.suppressed[path] = suppressed
        return findings

    def _is_about(self, path: Path, finding: Finding) -> bool:
        """Whether a finding lies in a file or in a configuration, and names no place out of the project, which a report
        would quote."""
        own, place = self.rel(path), finding.location.path
        related = {related.location.path for related in finding.related}
        edited = {edit.path for edit in finding.fix.edits} if finding.fix is not None else set()
        others = (related | edited | {place}) - {own}
        reach = self.program.project.reach
        is_here = place == own or place.endswith(CONFIGURATIONS)
        return is_here and all(reach.includes(self.root / other) for other in others)

    def _keep(self, path: Path, rests: int, findings: Sequence[Finding]) -> None:
        if self.cache is not None and not any(f.code in FAILURES for f in findings):
            self.cache.keep(self._key(path), rests, [encoded(findings), encoded(self.suppressed.get(path, ()))])

    def save(self) -> None:
        """Keep what was found for the next run."""
        if self.cache is not None and not self.problems:  # which the next run would have to tell, too
            with self.timed("step", "keeping what was found"), suppress(TimeLimitError), limited(self._seconds):
                self.cache.save()

    def checked_apart(self, paths: Sequence[Path], jobs: int) -> Iterator[tuple[Path, list[Finding]]]:
        """The findings of each file, from so many processes, as they come."""
        from torchrepro_lint import pool  # most runs are too small for it

        timings = Timings() if self.request.timings is not None else None
        request = self.request._replace(narrowings=(), cache=None, jobs=None, tell_programs=False, timings=timings)
        with closing(pool.spread(partial(_begin, request), list(map(str, paths)), jobs)) as done:
            for name, outcome in done:
                path = Path(name)
                yield path, self._taken(path, outcome)

    def _taken(self, path: Path, outcome: Outcome | Lost) -> list[Finding]:
        """The findings that another process came to, which rest here on what they rest on there."""
        if not isinstance(outcome, Outcome):
            return [_failed("the engine", self.rel(path), f"the process that checked it {outcome.reason}", "unknown")]
        findings, self.suppressed[path] = decoded(outcome.findings), decoded(outcome.suppressed)
        self.problems += outcome.problems
        if self.request.timings is not None:
            self.request.timings.add(outcome.taken)
        asked = self._asked_by.setdefault(outcome.worker, [])
        asked[outcome.told :] = [self.tracker.learn(question, answer) for question, answer in outcome.asked]
        rests = self.tracker.rest_on(bits(asked[number] for number in numbers(outcome.rests)))
        if not outcome.problems:
            self._keep(path, rests, findings)
        return findings

    def _key(self, path: Path) -> str:
        """The name of a file's findings: they are those of the rules that are enabled there."""
        codes = selection.enabled(self.request.resolver.for_path(path), path)
        return f"{','.join(sorted(codes))}|{self.rel(path)}"

    def _checked_in_time(self, path: Path) -> list[Finding]:
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
        if facts.source.kind == "configuration":  # what is wrong in it is found where it is used
            return []
        suppressor = Suppressor(facts.source, facts, cards.codes(), enabled)
        module = Module(facts, self.program)
        findings: list[Finding] = []
        self.suppressed.pop(path, None)
        for code, check in checks.load(selection.worth_a_look(enabled, facts.source.text)):
            with self.timed("rule", code):
                findings += _guarded(code, facts.source.rel, partial(self._found, code, check, module, suppressor))
        if "TRP004" in enabled:
            findings += no_python(facts.source)
        if "TRP002" in enabled:
            findings += [unused_suppression(facts.source, unused) for unused in suppressor.unused()]
        return findings

    def _found(self, code: str, check: checks.Check, module: Module, suppressor: Suppressor) -> list[Finding]:
        """What one rule finds in one file, without what a comment silences."""
        findings: list[Finding] = []
        for draft in check(module, self.program):
            if not self._is_silenced(code, draft, module.facts, suppressor):
                findings.append(self._without_silenced_edits(complete(code, draft, module.facts), suppressor))
            elif self.request.keep_suppressed or self.tracker.is_on:
                silenced = replace(complete(code, draft, module.facts), fix=None)
                self.suppressed.setdefault(module.facts.source.path, []).append(silenced)
        return findings

    def _is_silenced(self, code: str, draft: checks.Draft, facts: ModuleFacts, suppressor: Suppressor) -> bool:
        """Whether a comment asks for silence: in the code, or beside the entry of a configuration file."""
        if suppressor.silences(code, _line(facts, draft.node)):
            return True
        place = draft.written_at
        return place is not None and self._suppressor_of(place.facts).covers(code, _line(place.facts, place.node))

    def jobs(self, files: int) -> int:
        """In how many processes so many files are checked."""
        asked = self.request.jobs
        if self.overlay or self.is_fixing or asked == 1:  # fixes are made of the text that this process has read
            return 1
        if asked is not None:
            return min(asked, files // 2)
        if files < 2 * MIN_FILES:
            return 1
        from torchrepro_lint import pool

        return pool.suitable(files, MIN_FILES)

    def counted(self) -> dict[str, int]:
        """How often a bound kept a question from being answered, by what was given up, and how often a name alone
        decided something, by what."""
        if not self.tracker.is_on:
            return self.program.counted()
        asked = self.tracker.questions(self.tracker.current)
        return dict(sorted(Counter(COUNTED[q[0]].format(q[1]) for q in asked if q[0] in COUNTED).items()))

    def narrowed(self, findings: Sequence[Finding]) -> tuple[Sequence[Finding], dict[str, tuple[Finding, ...]]]:
        """Of sorted findings those to report, and the others by the reason why they are not."""
        left_out: dict[str, tuple[Finding, ...]] = {}
        for reason, keep in self.request.narrowings:
            kept = set(map(id, keep(self, [f for f in findings if f.code not in FAILURES])))
            gone = tuple(f for f in findings if id(f) not in kept and f.code not in FAILURES)
            left_out[reason] = gone
            findings = [f for f in findings if id(f) in kept or f.code in FAILURES]
        return findings, left_out

    def programs(self, wanted: Collection[str]) -> dict[str, tuple[str, ...]]:
        """For each of these files, which checked files start a program that imports it."""
        from torchrepro_lint.project.entries import entries

        found: dict[str, list[str]] = {rel: [] for rel in sorted(wanted)}
        for path in self.files:
            facts = self.program.load(str(path))
            if facts is not None and entries(facts, self.program.project):
                reached = {self.rel(other) for other in (path, *self.program.project.reachable(path))}
                for rel in reached & found.keys():
                    found[rel].append(self.rel(path))
            self.program.release()
        return {rel: tuple(starts) for rel, starts in found.items()}

    def judges(self, path: Path, code: str) -> bool:
        """Whether a finding of this rule in this file would have been found."""
        is_asked = self.path_of(self.rel(path)) is not None
        return is_asked and code in selection.enabled(self.request.resolver.for_path(path), path)

    def path_of(self, rel: str) -> Path | None:
        """The file of that name, if it is among those asked for: one that is checked, or a configuration file in a
        folder that is."""
        path = self.root / rel
        if rel in self.by_rel or path.suffix not in CONFIGURATIONS:
            return self.by_rel.get(rel)
        given = [Path(os.path.abspath(p)) for p in self.request.paths]  # noqa: PTH100
        return path if any(path.is_relative_to(folder) for folder in given) else None

    def _without_silenced_edits(self, finding: Finding, here: Suppressor) -> Finding:
        """The finding, without its fix where that would edit a line on which its rule is suppressed, or part a comment
        from the statement that it silences."""
        edits: list[Edit] = []
        for edit in finding.fix.edits if finding.fix is not None else ():
            facts = self.program.load(str(self.root / edit.path)) if edit.path != here.source.rel else here.facts
            if facts is None:
                return replace(finding, fix=None)
            there = here if facts is here.facts else self._suppressor_of(facts)
            if any(there.covers(finding.code, line) for line in there.touched(edit)):
                return replace(finding, fix=None)
            beside = there.beside(edit)
            if beside is None:
                return replace(finding, fix=None)
            edits.append(beside)
        return replace(finding, fix=replace(finding.fix, edits=tuple(edits))) if finding.fix is not None else finding

    def _suppressor_of(self, facts: ModuleFacts) -> Suppressor:
        """Of another file than the one that is checked: the last one is kept, since many fixes edit the same."""
        _ = facts.source.suppressions  # whoever asks rests on them, also where they are known
        if self._other is None or self._other.facts is not facts:
            self._other = Suppressor(facts.source, facts, cards.codes(), ())
        return self._other


def check(request: Request, progress: Progress | None = None) -> Result:
    """Check all files that the paths name."""
    run = Run(request)
    findings = check_files(run, run.files, progress)
    findings |= check_users(run)
    run.save()
    return finish(run, findings)


def check_files(run: Run, files: Sequence[Path], progress: Progress | None = None) -> dict[Path, list[Finding]]:
    """The findings of each file. The cyclic garbage collector is off: syntax trees make it slow, and the program
    frees what it drops by itself."""
    findings: dict[Path, list[Finding]] = {}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for path, found in _each(run, files):
            findings[path] = found
            if progress is not None:
                progress(len(findings), len(files))
    finally:
        if was_enabled:
            gc.enable()
    return {path: findings[path] for path in files}


def _each(run: Run, files: Sequence[Path]) -> Iterator[tuple[Path, list[Finding]]]:
    """Each file with its findings: first those that are known, then the others, in several processes if that pays."""
    new = []
    for path in files:
        with run.timed("step", "asking the cache"):
            kept = run.kept(path)
        if kept is None:
            new.append(path)
        else:
            yield path, kept
    if run.request.timings is not None:
        run.request.timings.known += len(files) - len(new)
        run.request.timings.checked += len(new)
    jobs = run.jobs(len(new))
    if jobs > 1:
        yield from run.checked_apart(new, jobs)
        return
    for path in new:
        yield path, run.check_file(path)
        run.program.release()


class Outcome(NamedTuple):
    """What another process came to for one file, as plain data. `rests` is the set of questions that it rests on, with
    the numbers that they have there; `asked` are those that came after the first `told`, with their answers."""

    findings: list[Any]
    suppressed: list[Any]
    problems: list[str]
    worker: int
    rests: int
    told: int
    asked: list[tuple[Question, Any]]
    taken: dict[tuple[Kind, str], float]


def _begin(request: Request) -> Callable[[str], Outcome]:
    """Begin to check files of a project in a process of its own."""
    gc.disable()
    run = Run(request)
    tracker = run.tracker
    known = 0  # questions that have been told

    def work(name: str) -> Outcome:
        nonlocal known
        path, problems, told = Path(name), len(run.problems), known
        outer = tracker.begin()
        findings = run.check_file(path)
        rests = tracker.end(outer)
        run.program.release()
        asked = [(question, tracker.answers[question]) for question in tracker.order[told:]]
        known = len(tracker.order)
        suppressed = run.suppressed.get(path, ())
        taken = dict(request.timings.taken) if request.timings is not None else {}
        if request.timings is not None:
            request.timings.taken.clear()
        news = run.problems[problems:]
        return Outcome(encoded(findings), encoded(suppressed), news, os.getpid(), rests, told, asked, taken)

    return work


def check_users(run: Run) -> dict[Path, list[Finding]]:
    """Of the files that use those checked, the findings that have a related place in one of these: an entry point
    reports what it draws elsewhere. Not for a text from an editor, nor for so many files that all are checked."""
    if run.request.stdin is not None or len(run.files) > MAX_GIVEN:
        return {}
    found = check_files(run, _users(run))
    return {
        path: [f for f in group if any(r.location.path in run.by_rel for r in f.related)]
        for path, group in found.items()
    }


def _users(run: Run) -> list[Path]:
    """The files that use those checked."""
    if run.cache is None:
        return run.program.project.users(run.files)
    key = f"users|{'|'.join(map(run.rel, run.files))}"
    kept = run.cache.answer(key)
    if isinstance(kept, list) and all(isinstance(name, str) for name in kept):
        return list(map(Path, kept))
    outer = run.tracker.begin()
    found = run.program.project.users(run.files)
    run.cache.keep(key, run.tracker.end(outer), list(map(str, found)))
    return found


def finish(run: Run, findings: Mapping[Path, Sequence[Finding]]) -> Result:
    """Sort, fingerprint, leave out what is not to be reported, and count."""
    flat = _fingerprinted(findings)
    problems = tuple(run.problems)
    kept, left_out = run.narrowed(flat)
    edited = {edit.path for f in kept if f.fix is not None for edit in f.fix.edits}
    return Result(
        run.root,
        tuple(kept),
        tuple(run.rel(f) for f in run.files),
        run.missing,
        problems=problems,
        outside=run.outside,
        left_out=left_out,
        suppressed=tuple(_fingerprinted(run.suppressed)) if run.request.keep_suppressed else (),
        programs=run.programs({f.location.path for f in kept}) if run.request.tell_programs else {},
        statistics=dict(sorted(Counter(f.code for f in kept).items())) | run.counted(),
        texts=run.overlay,
        configurations=frozenset(rel for rel in edited if run.path_of(rel) is not None),
    )


def _fingerprinted(findings: Mapping[Path, Sequence[Finding]]) -> list[Finding]:
    """In order; a clean run needs no fingerprints."""
    flat = sorted((f for group in findings.values() for f in group), key=lambda f: f.sort_key)
    flat = _each_once(flat)
    if not flat:
        return flat
    from torchrepro_lint.fingerprints import with_fingerprints

    return list(with_fingerprints(flat))


def _each_once(findings: Sequence[Finding]) -> list[Finding]:
    """Several programs may find the same in a configuration file that they share."""
    seen: set[tuple[object, ...]] = set()
    kept = []
    for finding in findings:
        key = (finding.code, finding.location, finding.message)
        if key not in seen or not finding.location.path.endswith(CONFIGURATIONS):
            kept.append(finding)
        seen.add(key)
    return kept


def _own_evidence(settings: Settings) -> Sequence[Measured]:
    """The user's measurements; SettingsError for a file that cannot be read."""
    if settings.evidence is None:
        return ()
    from torchrepro_lint.evidence import EvidenceError, read

    try:
        return read(settings.base / settings.evidence)
    except EvidenceError as error:
        raise SettingsError(f"{settings.origin('evidence')}: {error}") from None


def _line(facts: ModuleFacts, node: ast.AST) -> int:
    from torchrepro_lint.completion import shown_range

    return shown_range(facts, node).start.line


def _guarded(rule: str, rel: str, work: Callable[[], list[Finding]]) -> list[Finding]:
    """What `work` finds; a crash of it is a finding, and everything else goes on."""
    try:
        return work()
    except Exception as error:
        return [_crash(rule, rel, error)]


def _crash(rule: str, rel: str, error: Exception) -> Finding:
    """TRP003, with all that whoever mends it needs to know."""
    from traceback import extract_tb

    frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(extract_tb(error.__traceback__))]
    told = re.sub(r" at 0x[0-9a-fA-F]+", "", f"{type(error).__name__}: {error}")  # the same in every run
    return _failed(rule, rel, told, " < ".join(tuple(dict.fromkeys(frames))[:MAX_FRAMES]))


def _failed(rule: str, rel: str, error: str, place: str) -> Finding:
    import platform

    told = {
        "rule": rule,
        "error": error,
        "place": place,
        "versions": f"torchrepro-lint {__version__}, Python {platform.python_version()}",
        "address": ISSUES,
    }
    return tool_finding("TRP003", rel, Position(1, 1), fill(cards.load_card("TRP003").message, told))


__all__ = [
    "ENGINE_CODES",
    "FAILURES",
    "Level",
    "Narrowing",
    "Progress",
    "Request",
    "Result",
    "Run",
    "check",
    "check_files",
    "finish",
]
