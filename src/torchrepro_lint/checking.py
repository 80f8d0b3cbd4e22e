"""The files of one project, read and checked: facts -> checks -> findings, suppressed and completed.

The one place where a crash of a check is caught: it becomes a TRP003 finding, and everything else goes on. A run whose
findings are all known imports nothing of this.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torchrepro_lint import cards, checks, selection
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.discover import configuration_files, named_from, native_files
from torchrepro_lint.elements import Position
from torchrepro_lint.index import ModuleFacts, ParseError, build, readable
from torchrepro_lint.project.folders import Folders
from torchrepro_lint.project.project import Project
from torchrepro_lint.settings import Settings, SettingsSource
from torchrepro_lint.source import SourceError, SourceFile, read_source, source_from_text
from torchrepro_lint.suppression import Suppressor
from torchrepro_lint.timings import Kind, Timings
from torchrepro_lint.tracking import Tracker

if TYPE_CHECKING:
    from torchrepro_lint.evidence import Measured
    from torchrepro_lint.model import Edit, Finding


class Subject(NamedTuple):
    """What is checked: the project at `root`, with the `settings` that hold there, and all its Python `files`;
    those `asked` for are read wherever they lie. With `keep_suppressed` it is told what comments silence; `with_edits`
    says whether the edits of fixes are wanted."""

    root: Path
    resolver: SettingsSource
    settings: Settings
    files: Callable[[], tuple[Path, ...]]
    asked: frozenset[Path]
    torch_version: str | None
    evidence: Sequence[Measured]
    keep_suppressed: bool
    with_edits: bool
    timings: Timings | None

    def rel(self, path: Path) -> str:
        """`path` as findings name it."""
        return named_from(self.root, path)

    def timed(self, kind: Kind, name: str, *, apart: bool = False) -> AbstractContextManager[None]:
        """Count the time of a block where that is asked for."""
        return self.timings.of(kind, name, apart=apart) if self.timings is not None else nullcontext()


class Checked(NamedTuple):
    """The findings of a file, in no particular order, and what comments silence there."""

    findings: list[Finding]
    suppressed: list[Finding]


class Checker:
    """Reads and checks files, one after the other. `overlay` holds text that stands in for what is on disk; `refused`
    is told of lists that cannot be read, and why."""

    def __init__(
        self,
        subject: Subject,
        overlay: Mapping[Path, str],
        folders: Folders,
        tracker: Tracker,
        refused: Callable[[Path, str], None],
    ) -> None:
        self._subject = subject
        self._overlay = overlay
        self._folders = folders
        self._tracker = tracker
        self._refused = refused
        self._failures: dict[Path, Finding] = {}
        self._seen: dict[Path, int] = {}
        self._other: Suppressor | None = None
        self._checking: Path | None = None
        self.program = self._new_program()

    def _new_program(self) -> Program:
        root, settings = self._subject.root, self._subject.settings
        project = Project(
            root,
            self._read,
            files=self._subject.files,
            configurations=lambda: configuration_files(root, settings),
            native_files=lambda: native_files(root, settings),
            sources=[settings.base / s for s in settings.src],
            torch_version=lambda: self._subject.torch_version,
            seed=settings.seed,
            seed_functions=settings.seed_functions,
            loader_classes=settings.loader_classes,
            rng_functions=settings.rng_functions,
            folders=self._folders,
            tracker=self._tracker,
            refused=self._refused,
            timed=partial(self._subject.timed, apart=True),
        )
        program = Program(project, self._subject.evidence)
        for path, text in self._overlay.items():
            program.change(path, text)
        return program

    def restart(self) -> None:
        """Forget what was worked out: some of it may be half done."""
        self.program = self._new_program()

    # -- files ------------------------------------------------------------------------------------------------
    def _read(self, path: Path) -> ModuleFacts | None:
        """Read and index one file; a failure is kept, to be reported if the file was asked for. What an import reaches
        through a link out of the project is as if it were not there."""
        if path not in self._subject.asked and not self._folders.reach.includes(path):
            return None
        source: SourceFile | None = None
        try:
            with self._subject.timed("step", "reading and indexing", apart=path != self._checking):
                source = self._source(path)
                if path not in self._overlay:
                    self._seen.setdefault(path, hash(source.document))
                return build(source, is_compact=self.program.project.files.are_many)
        except (SourceError, ParseError) as error:
            from torchrepro_lint.completion import tool_finding

            where = error.position or Position(1, 1)
            self._failures[path] = tool_finding("TRP001", self._subject.rel(path), where, error.message, source)
            rest = readable(source) if source is not None else None
            return build(rest, is_compact=self.program.project.files.are_many) if rest is not None else None

    def source(self, path: Path) -> SourceFile:
        """The text of a file as it was checked; ConflictError if it has changed on disk since."""
        from torchrepro_lint.fixing import ConflictError

        source = self.text(path)
        if source is None:
            raise ConflictError(path)
        if path not in self._overlay and self._seen.get(path, hash(source.document)) != hash(source.document):
            raise ConflictError(path)
        return source

    def text(self, path: Path) -> SourceFile | None:
        """The text of a file as it is now, None where it cannot be read."""
        try:
            return self._source(path)
        except SourceError:
            return None

    def _source(self, path: Path) -> SourceFile:
        if path in self._overlay:
            return source_from_text(self._overlay[path], path, self._subject.rel(path))
        return read_source(path, self._subject.rel(path), self._subject.settings.max_bytes)

    def failure(self, path: Path) -> str:
        """Why the file, or a cell of it, could not be read; empty where it was."""
        found = self._failures.get(path)
        return f"line {found.location.range.start.line}: {found.message}" if found is not None else ""

    def change(self, path: Path, text: str | None) -> None:
        """The overlay has another text for the file; None for what is on disk."""
        self._failures.pop(path, None)
        self.program.change(path, text)

    # -- findings ---------------------------------------------------------------------------------------------
    def check(self, path: Path) -> Checked:
        """What all rules that are enabled find in a file."""
        suppressed: list[Finding] = []
        rel = self._subject.rel(path)
        self._checking = path
        return Checked(_guarded("the engine", rel, lambda: self._checked(path, suppressed)), suppressed)

    def _checked(self, path: Path, suppressed: list[Finding]) -> list[Finding]:
        enabled = selection.enabled(self._subject.resolver.for_path(path), path)
        facts = self.program.load(str(path))
        findings = [self._failures[path]] if path in self._failures else []
        if facts is None:
            return findings
        if facts.source.kind == "configuration":  # what is wrong in it is found where it is used
            return []
        suppressor = Suppressor(facts.source, facts, cards.codes(), enabled)
        module = Module(facts, self.program)
        with self._subject.timed("step", "importing rules", apart=True):
            loaded = checks.load(selection.worth_a_look(enabled, facts.source.text))
        for code, check in loaded:
            with self._subject.timed("rule", code):
                work = partial(self._found, code, check, module, suppressor, suppressed)
                findings += _guarded(code, facts.source.rel, work)
        if "TRP004" in enabled and facts.source.kind == "notebook":
            from torchrepro_lint.completion import no_python

            findings += no_python(facts.source)
        if "TRP002" in enabled and (unused := suppressor.unused()):
            from torchrepro_lint.completion import unused_suppression

            with_edits = self._subject.with_edits
            findings += [unused_suppression(facts.source, each, with_edits=with_edits) for each in unused]
        return findings

    def _found(
        self, code: str, check: checks.Check, module: Module, suppressor: Suppressor, suppressed: list[Finding]
    ) -> list[Finding]:
        """What one rule finds in one file, without what a comment silences."""
        findings: list[Finding] = []
        with_edits = self._subject.with_edits or bool(module.facts.source.suppressions)  # which an edit may concern
        for draft in check(module, self.program):
            if not self._is_silenced(code, draft, module.facts, suppressor):
                found = _completed(code, draft, module.facts, with_edits=with_edits)
                findings.append(self._without_silenced_edits(found, suppressor))
            elif self._subject.keep_suppressed or self._tracker.is_on:
                suppressed.append(_without_fix(_completed(code, draft, module.facts, with_edits=False)))
        return findings

    def _is_silenced(self, code: str, draft: checks.Draft, facts: ModuleFacts, suppressor: Suppressor) -> bool:
        """Whether a comment asks for silence: in the code, or beside the entry of a configuration file."""
        if facts.source.suppressions and suppressor.silences(code, _line(facts, draft.node)):
            return True
        place = draft.written_at
        return place is not None and self._suppressor_of(place.facts).covers(code, _line(place.facts, place.node))

    def _without_silenced_edits(self, finding: Finding, here: Suppressor) -> Finding:
        """The finding, without its fix where that would edit a line on which its rule is suppressed, or part a comment
        from the statement that it silences."""
        if finding.fix is None or not finding.fix.edits:
            return finding
        edits: list[Edit] = []
        for edit in finding.fix.edits:
            facts = (
                self.program.load(str(self._subject.root / edit.path)) if edit.path != here.source.rel else here.facts
            )
            if facts is None:
                return _without_fix(finding)
            there = here if facts is here.facts else self._suppressor_of(facts)
            if not there.source.suppressions:
                edits.append(edit)
                continue
            if any(there.covers(finding.code, line) for line in there.touched(edit)):
                return _without_fix(finding)
            beside = there.beside(edit)
            if beside is None:
                return _without_fix(finding)
            edits.append(beside)
        if tuple(edits) == finding.fix.edits:
            return finding
        from dataclasses import replace

        return replace(finding, fix=replace(finding.fix, edits=tuple(edits)))

    def _suppressor_of(self, facts: ModuleFacts) -> Suppressor:
        """Of another file than the one that is checked: the last one is kept, since many fixes edit the same."""
        _ = facts.source.suppressions  # whoever asks rests on them, also where they are known
        if self._other is None or self._other.facts is not facts:
            self._other = Suppressor(facts.source, facts, cards.codes(), ())
        return self._other


# -- what only a file with findings needs, and is slow to import ----------------------------------------------------
def _completed(code: str, draft: checks.Draft, facts: ModuleFacts, *, with_edits: bool) -> Finding:
    from torchrepro_lint.completion import complete

    return complete(code, draft, facts, with_edits=with_edits)


def _without_fix(finding: Finding) -> Finding:
    from dataclasses import replace

    return replace(finding, fix=None)


def _line(facts: ModuleFacts, node: ast.AST) -> int:
    from torchrepro_lint.completion import shown_range

    return shown_range(facts, node).start.line


def _guarded(rule: str, rel: str, work: Callable[[], list[Finding]]) -> list[Finding]:
    """What `work` finds; a crash of it is a finding, and everything else goes on."""
    try:
        return work()
    except Exception as error:
        from torchrepro_lint.completion import crash

        return [crash(rule, rel, error)]
