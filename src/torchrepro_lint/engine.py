"""One run: which files there are, what is known of them, in how many processes the others are checked, and what was
found, sorted. Prints nothing.

`check` only looks; `fix` (in `repair`) repeats it over changed text. A run of which everything is known ends without
`checking`, in which rules are run: what is slow to import is imported where it is used.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import cached_property, lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from torchrepro_lint import selection
from torchrepro_lint.discover import configuration_files, discover, named_from, project_root, python_files
from torchrepro_lint.elements import Level, Safety
from torchrepro_lint.project.folders import Folders
from torchrepro_lint.project.kinds import COUNTED, UNTOLD
from torchrepro_lint.project.listed import listed_as
from torchrepro_lint.project.text import MAX_BYTES
from torchrepro_lint.reading import CONFIGURATIONS, PLOTS, Reach, read_regular
from torchrepro_lint.records import NamedTuple
from torchrepro_lint.settings import Settings, SettingsError, SettingsSource, project_torch
from torchrepro_lint.time_limit import TimeLimitError, limited
from torchrepro_lint.tracking import Question, Rests, Tracker, Untracked, bits, bits_of, numbers

if TYPE_CHECKING:
    from torchrepro_lint.cache import Cache
    from torchrepro_lint.checking import Checker
    from torchrepro_lint.dataflow import Program
    from torchrepro_lint.evidence import Measured
    from torchrepro_lint.model import Finding
    from torchrepro_lint.pool import Lost
    from torchrepro_lint.source import SourceFile
    from torchrepro_lint.timings import Kind, Timings

Progress = Callable[[int, int], None]
MAX_GIVEN = 64  # files by name, as pre-commit gives them
FEW = 24  # files for which others are read, and not many kept
MIN_FILES = 24  # that are worth a process: it reads again what others have read
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


class Request(NamedTuple):
    """What to check: paths, whose settings, and text that stands in for a file (stdin, or not yet written).

    `root` is found from the paths unless it is given. With `keep_suppressed` the result has what comments silence, with
    `tell_programs` which programs the files of findings belong to; without `with_edits` fixes may have none. `cache` is
    the folder that keeps what is found, True for the one that the settings name; `jobs` is the number of processes,
    None for what suits the machine; `timings` is told where the time goes.
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
    with_edits: bool = True
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
        return sum(f.fix is not None and f.fix.safety is safety and f.fix.paths <= writable for f in self.findings)

    @property
    def errors(self) -> bool:
        """Whether something could not be done: a path is missing, a file unreadable, a check crashed."""
        return bool(self.missing or self.problems) or any(f.code in FAILURES for f in self.findings)

    def source(self, rel: str) -> SourceFile | None:
        """The text that the findings in `rel` are about."""
        from torchrepro_lint.source import SourceError, read_source, source_from_text

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
        self._found = found
        self.problems = [f"{path}: {reason}" for path, reason in found.unreadable]
        self.outside = found.outside
        if request.stdin:
            text, path = request.stdin
            self.overlay.setdefault(path, text)
            self.files = (path,)
        self.by_rel = {self.rel(path): path for path in self.files}
        self._by_folder: dict[str, Settings] = {}
        self.suppressed: dict[Path, list[Finding]] = {}
        self.is_fixing = False
        self._asked = frozenset(self.files)
        self._asked_by: dict[int, list[int]] = {}  # the numbers that the questions of another process have here
        settings = request.resolver.for_path(self.root / "pyproject.toml")
        self._seconds = settings.max_file_seconds
        self._too_slow: set[Path] = set()
        declared = project_torch(self.root, self._refused)  # now: what cannot be read is told once
        self._settings = settings
        self._declared_torch = declared
        self._evidence = _own_evidence(settings)
        is_cached = request.cache is not None and not self.overlay
        self.tracker = Tracker() if is_cached or request.jobs != 1 else Untracked()
        self.folders = Folders(Reach([self.root, *(settings.base / source for source in settings.src)]), self.tracker)
        with self.timed("step", "opening the cache"):
            self.cache = self._open_cache() if is_cached else None

    def timed(self, kind: Kind, name: str) -> AbstractContextManager[None]:
        """Count the time of a block where that is asked for."""
        return self.request.timings.of(kind, name) if self.request.timings is not None else nullcontext()

    @cached_property
    def _listing(self) -> tuple[Path, ...]:
        """All Python files of the project."""
        is_known = self._found.is_whole and self._found.root == self.root
        return self._found.files if is_known else python_files(self.root, self._settings)

    @cached_property
    def _configurations(self) -> tuple[str, ...]:
        return tuple(map(str, configuration_files(self.root, self._settings)))

    def listed(self, path: str) -> list[str]:
        """The configuration files of the project that a path with unknown parts may be."""
        return listed_as(path, os.path.abspath(self.root), self._configurations)  # noqa: PTH100

    @cached_property
    def checker(self) -> Checker:
        """What reads and checks files."""
        from torchrepro_lint.checking import Checker, Subject

        request, settings = self.request, self._settings
        subject = Subject(
            self.root,
            request.resolver,
            settings,
            lambda: self._listing,
            self._asked,
            request.torch_version or settings.torch or self._declared_torch,
            self._evidence,
            request.keep_suppressed,
            request.with_edits,
            request.timings,
        )
        return Checker(subject, self.overlay, self.folders, self.tracker, self._refused)

    @property
    def program(self) -> Program:
        """What the files mean together."""
        return self.checker.program

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
            listing=lambda: self._listing,
            read=self.content,
            folders=self.folders,
            project=lambda: self.program.project,
            listed=self.listed,
        )

    def _close_cache(self) -> None:
        self.cache = None
        self.tracker.forget_earlier_run()

    def content(self, path: str) -> bytes | None:
        """The bytes of a file, None where they are not read."""
        if Path(path) not in self._asked and not self.folders.reach.includes(path):
            return None
        try:
            return read_regular(path, max(self._settings.max_bytes * PLOTS, MAX_BYTES))  # larger ones are never read
        except OSError:
            return None

    def _refused(self, path: Path, reason: str) -> None:
        """A list of requirements cannot be read: what it asks for is not known, and everything else goes on."""
        problem = f"{path}: cannot be read: {reason}"
        if problem not in self.problems:
            self.problems.append(problem)

    def rel(self, path: Path) -> str:
        """`path` as findings name it."""
        return named_from(self.root, path)

    def change(self, path: Path, text: str | None) -> None:
        """Let `text` stand in for the file from now on; None for what is on disk."""
        if text is None:
            self.overlay.pop(path, None)
        else:
            self.overlay[path] = text
        self._close_cache()  # which knows files as they are on the disk
        self.checker.change(path, text)

    def check_file(self, path: Path) -> list[Finding]:
        """All findings of one file, in no particular order; none of one that takes too long, which is a problem."""
        if path in self._too_slow:
            return []
        checker, outer = self.checker, self.tracker.begin()
        self.suppressed.pop(path, None)
        findings: list[Finding] = []
        try:
            with self.timed("file", self.rel(path)), limited(self._seconds):
                findings, self.suppressed[path] = checker.check(path)
        except TimeLimitError:
            self._too_slow.add(path)
            limit = f"the {self._seconds} s that the setting max-file-seconds allows"
            self.problems.append(f"{self.rel(path)}: not checked, since it takes longer than {limit}")
            checker.restart()
        rests = self.tracker.end(outer)
        if path not in self._too_slow:
            self._keep(path, rests, findings)
        return findings

    def known(self, files: Sequence[Path]) -> dict[Path, list[Finding]]:
        """The findings of those files of which what an earlier run found holds."""
        found: dict[Path, list[Finding]] = {}
        if self.cache is None:
            return found
        try:
            with self.timed("step", "asking the cache"), limited(self._seconds) as renew:
                for path in files:
                    renew()
                    kept = self._kept(path, self.cache)
                    if kept is not None:
                        found[path] = kept
        except TimeLimitError:  # a cache that nobody of us wrote
            self._close_cache()
        return found

    def _kept(self, path: Path, cache: Cache) -> list[Finding] | None:
        """What an earlier run found in a file, where it holds. Edits are made of no text but the one that is read."""
        try:
            findings, suppressed = map(_decoded, cache.answer(self._key(path)) or ())
        except (ValueError, TypeError):  # nothing is known, or what is kept is no finding
            return None
        fixes = [finding.fix for finding in findings if finding.fix is not None]
        if (self.is_fixing and fixes) or (self.request.with_edits and not all(fix.edits for fix in fixes)):
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
        others = (related | finding.edited | {place}) - {own}
        reach = self.folders.reach
        is_here = place == own or place.endswith(CONFIGURATIONS)
        return is_here and all(reach.includes(self.root / other) for other in others)

    def _keep(self, path: Path, rests: Rests, findings: Sequence[Finding]) -> None:
        if self.cache is not None and not any(f.code in FAILURES for f in findings):
            self.cache.keep(self._key(path), rests, [_encoded(findings), _encoded(self.suppressed.get(path, ()))])

    def save(self) -> None:
        """Keep what was found for the next run."""
        if self.cache is not None and not self.problems:  # which the next run would have to tell, too
            with self.timed("step", "keeping what was found"), suppress(TimeLimitError), limited(self._seconds):
                self.cache.save()

    def checked_apart(self, paths: Sequence[Path], jobs: int) -> Iterator[tuple[Path, list[Finding]]]:
        """The findings of each file, from so many processes, as they come."""
        from torchrepro_lint import pool  # most runs are too small for it
        from torchrepro_lint.timings import Timings

        timings = Timings() if self.request.timings is not None else None
        request = self.request._replace(narrowings=(), cache=None, jobs=None, tell_programs=False, timings=timings)
        with closing(pool.spread(partial(_begin, request), list(map(str, paths)), jobs)) as done:
            for name, outcome in done:
                path = Path(name)
                yield path, self._taken(path, outcome)

    def _taken(self, path: Path, outcome: Outcome | Lost) -> list[Finding]:
        """The findings that another process came to, which rest here on what they rest on there."""
        if not isinstance(outcome, Outcome):
            from torchrepro_lint.completion import failed

            return [failed("the engine", self.rel(path), f"the process that checked it {outcome.reason}", "unknown")]
        findings, self.suppressed[path] = _decoded(outcome.findings), _decoded(outcome.suppressed)
        self.problems += outcome.problems
        if self.request.timings is not None:
            self.request.timings.add(outcome.taken)
        asked = self._asked_by.setdefault(outcome.worker, [])
        asked[outcome.told :] = [self.tracker.learn(question, answer) for question, answer in outcome.asked]
        rests = bits(asked[number] for number in numbers(outcome.rests))
        self.tracker.rest_on(rests)
        if not outcome.problems:
            self._keep(path, rests, findings)
        return findings

    def _key(self, path: Path) -> str:
        """The name of a file's findings: they are those of the rules that are enabled there."""
        folder = os.path.dirname(path)  # noqa: PTH120 - for each of thousands of files
        settings = self._by_folder.get(folder)
        if settings is None:
            settings = self._by_folder[folder] = self.request.resolver.for_path(path)
        return f"{_listed(selection.enabled(settings, path))}|{self.rel(path)}"

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
        if self.tracker.is_on:
            asked = self.tracker.questions(self.tracker.current)
            found = dict(sorted(Counter(COUNTED[q[0]].format(q[1]) for q in asked if q[0] in COUNTED).items()))
        else:
            found = self.program.counted()
        return {what: number for what, number in found.items() if what != UNTOLD}

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


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no cycles in the block: syntax trees make that slow, and the program frees what it drops by itself."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def check(request: Request, progress: Progress | None = None) -> Result:
    """Check all files that the paths name."""
    with uncollected():
        run = Run(request)
        findings = check_files(run, run.files, progress)
        findings |= check_users(run)
        run.save()
        return finish(run, findings)


def check_files(run: Run, files: Sequence[Path], progress: Progress | None = None) -> dict[Path, list[Finding]]:
    """The findings of each file."""
    findings: dict[Path, list[Finding]] = {}
    with uncollected():
        for path, found in _each(run, files):
            findings[path] = found
            if progress is not None:
                progress(len(findings), len(files))
    return {path: findings[path] for path in files}


def _each(run: Run, files: Sequence[Path]) -> Iterator[tuple[Path, list[Finding]]]:
    """Each file with its findings: first those that are known, then the others, in several processes if that pays."""
    known = run.known(files)
    new = [path for path in files if path not in known]
    yield from known.items()
    if run.request.timings is not None:
        run.request.timings.known += len(files) - len(new)
        run.request.timings.checked += len(new)
    jobs = run.jobs(len(new))
    if jobs > 1:
        yield from run.checked_apart(new, jobs)
        return
    if new and len(new) <= FEW and run.cache is not None:
        run.program.project.files.is_for_few = True
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
        rests = bits_of(tracker.end(outer))
        run.program.release()
        asked = [(question, tracker.answers[question]) for question in tracker.order[told:]]
        known = len(tracker.order)
        suppressed = run.suppressed.get(path, ())
        taken = dict(request.timings.taken) if request.timings is not None else {}
        if request.timings is not None:
            request.timings.taken.clear()
        news = run.problems[problems:]
        return Outcome(_encoded(findings), _encoded(suppressed), news, os.getpid(), rests, told, asked, taken)

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
    outer, known = run.tracker.begin(), len(run.tracker.order)
    found = run.program.project.users(run.files)
    is_news = len(run.tracker.order) > known  # else it is found again in less time than all is written
    run.cache.keep(key, run.tracker.end(outer), list(map(str, found)), is_news=is_news)
    return found


def finish(run: Run, findings: Mapping[Path, Sequence[Finding]]) -> Result:
    """Sort, fingerprint, leave out what is not to be reported, and count."""
    flat = _fingerprinted(findings)
    problems = tuple(run.problems)
    kept, left_out = run.narrowed(flat)
    edited = set[str]().union(*(f.fix.paths for f in kept if f.fix is not None))
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
        if finding.location.path.endswith(CONFIGURATIONS):
            key = (finding.code, finding.location, finding.message)
            if key in seen:
                continue
            seen.add(key)
        kept.append(finding)
    return kept


@lru_cache(maxsize=64)
def _listed(codes: frozenset[str]) -> str:
    return ",".join(sorted(codes))


def _encoded(findings: Sequence[Finding]) -> list[Any]:
    """As plain data; most files have none."""
    if not findings:
        return []
    from torchrepro_lint.cache.encoding import encoded

    return encoded(findings)


def _decoded(rows: Any) -> list[Finding]:
    """From plain data. Raises ValueError for what is none."""
    if rows == []:
        return []
    from torchrepro_lint.cache.encoding import decoded

    return decoded(rows)


def _own_evidence(settings: Settings) -> Sequence[Measured]:
    """The user's measurements; SettingsError for a file that cannot be read."""
    if settings.evidence is None:
        return ()
    from torchrepro_lint.evidence import EvidenceError, read

    try:
        return read(settings.base / settings.evidence)
    except EvidenceError as error:
        raise SettingsError(f"{settings.origin('evidence')}: {error}") from None


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
    "uncollected",
]
