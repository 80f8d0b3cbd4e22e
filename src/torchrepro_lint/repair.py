"""Applies fixes in rounds, in memory, and writes all changed files at the end, or none of them.

A round takes every fix that does not overlap an earlier one, and checks the new text of the files that belong
together: it must parse, and each fixed rule must have fewer findings there. Fixes that fail that are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torchrepro_lint.dataflow import Program
from torchrepro_lint.discover import project_root
from torchrepro_lint.engine import Progress, Request, Result, Run, check_files, check_users, finish
from torchrepro_lint.fixing import WriteError, apply_edits, recovered, refusal, unified_diff, write_files
from torchrepro_lint.model import Finding, Safety
from torchrepro_lint.source import SourceError, SourceFile

MAX_ROUNDS = 10
_DEFAULT = re.compile(r"(?:,\s*default=)?\d+")


def fix(request: Request, *, unsafe: bool, write: bool, progress: Progress | None = None) -> Result:
    """Fix what can be fixed. Without `write` nothing on disk changes, and `Result.diffs` says what would.

    A file that cannot be written is left alone, and the others are fixed. When writing fails at last, or a file has
    changed meanwhile, nothing is written, and the result is that of a run that only looks.
    """
    told = recovered(project_root(request.paths)) if write else []
    run = Run(request._replace(with_edits=True))
    run.is_fixing = True
    overlay = dict(run.overlay)
    repair = _Repair(run, unsafe, check_files(run, run.files, progress), write)
    run.save()
    found = dict(repair.findings)
    try:
        repair.work()
        result = _fixed(repair)
        if write and result.diffs:
            write_changes(run, repair.originals)
    except WriteError as error:
        run.overlay.clear()
        run.overlay.update(overlay)
        run.problems.append(f"no file was changed: {error}")
        result = finish(run, found)
    return result._replace(not_fixed=(*told, *result.not_fixed))


def _fixed(repair: _Repair) -> Result:
    run = repair.run
    run.problems += repair.refused()
    return finish(run, repair.findings | check_users(run))._replace(
        fixed=repair.fixed,
        made_unsafe=repair.unsafe,
        not_fixed=tuple(repair.reasons),
        diffs=tuple(
            (source.rel, unified_diff(source.rel, source.document, run.overlay[path]))
            for path, source in sorted(repair.originals.items())
            if source.document != run.overlay[path]
        ),
        fixed_text=run.overlay[run.request.stdin[1]] if run.request.stdin else None,
    )


@dataclass(slots=True)
class _Repair:
    """The findings of a run, the files that changed as they were, and why what was not fixed was not."""

    run: Run
    unsafe: bool
    findings: dict[Path, list[Finding]]
    write: bool
    originals: dict[Path, SourceFile] = field(default_factory=dict)
    fixed: int = 0
    reasons: list[str] = field(default_factory=list)
    _given_up: set[tuple[str, ...]] = field(default_factory=set)
    _refusals: dict[str, str | None] = field(default_factory=dict)

    def refused(self) -> list[str]:
        """The files that should be fixed and cannot be written, with the reasons."""
        return [f"{rel}: not fixed: {reason}" for rel, reason in sorted(self._refusals.items()) if reason]

    def work(self) -> None:
        """Fix until nothing is left to fix. When files have changed, all are checked again: they may depend on
        one another."""
        changed = False
        for _ in range(MAX_ROUNDS):
            units = self._units()
            if not units and not changed:
                return
            if sum(self._mend(_seeds_first(unit)) for unit in units):
                changed = True
            elif changed:
                self.findings = check_files(self.run, self.run.files)
                changed = False
        if changed:
            self.findings = check_files(self.run, self.run.files)

    def _units(self) -> list[list[Finding]]:
        """What is to be fixed, in order, in groups that share no file."""
        unit_of: dict[str, list[Finding]] = {}
        flat = sorted((f for group in self.findings.values() for f in group), key=lambda f: f.sort_key)
        found_in = {id(f): self.run.rel(path) for path, group in self.findings.items() for f in group}
        for finding in filter(self._is_wanted, self.run.narrowed(flat)[0]):
            files = sorted({finding.location.path, found_in[id(finding)], *finding.edited})
            shared = list({id(unit_of[rel]): unit_of[rel] for rel in files if rel in unit_of}.values())
            unit = max(shared, key=len, default=[])  # the others join the longest
            for other in shared:
                if other is not unit:
                    unit += other
                    files += [rel for f in other for rel in (f.location.path, found_in[id(f)], *f.edited)]
            unit.append(finding)
            unit_of.update(dict.fromkeys(files, unit))
        units = {id(unit): unit for unit in unit_of.values()}
        return sorted((sorted(unit, key=lambda f: f.sort_key) for unit in units.values()), key=lambda u: u[0].sort_key)

    def _is_wanted(self, finding: Finding) -> bool:
        fix = finding.fix
        if fix is None or not (self.unsafe or fix.safety is Safety.SAFE) or _identity(finding) in self._given_up:
            return False
        outside = sorted(rel for rel in finding.edited if self.run.path_of(rel) is None)
        if outside:
            self._give_up(finding, f"its fix also changes {' and '.join(outside)}, which is not among the given paths")
        refused = [rel for rel in sorted(finding.edited) if not outside and self._refusal(rel)]
        return not outside and not refused

    def _refusal(self, rel: str) -> str | None:
        """Why a file cannot be written, where it is to be."""
        if rel not in self._refusals:
            self._refusals[rel] = refusal(self.run.root / rel, self.run.root) if self.write else None
        return self._refusals[rel]

    def _give_up(self, finding: Finding, reason: str) -> None:
        where = f"{finding.location.path}:{finding.location.range.start.line}"
        self.reasons.append(f"{where}: {finding.code} is not fixed: {reason}")
        self._given_up.add(_identity(finding))

    def _mend(self, unit: Sequence[Finding]) -> bool:
        """Fix these; where that fails, those of them that can be fixed on their own."""
        if self._attempt(unit):
            return True
        good = [finding for finding in unit if len(unit) > 1 and self._attempt([finding], keep=False)]
        for finding in unit:
            if finding not in good:
                self._give_up(finding, "the changed program would not be free of it")
        return bool(good) and self._attempt(good)

    def _attempt(self, unit: Sequence[Finding], *, keep: bool = True) -> bool:
        """Whether these fixes do what they should; if not, or not to be kept, all is as before."""
        run = self.run
        in_turn = sorted(unit, key=lambda finding: finding.code)  # seeds stand before the switches that follow them
        result = apply_edits(self._source, [f.fix for f in in_turn if f.fix is not None])
        applied = set(result.applied)
        fixed = [f for f in unit if f.fix in applied]
        changed = [run.root / rel for rel in result.documents]
        checked = sorted({*changed, *self._found_in(fixed, set(result.documents))})
        originals = {path: self.originals.get(path) or run.checker.source(path) for path in changed}
        before = {path: run.overlay.get(path) for path in changed}
        for path in changed:
            run.change(path, result.documents[run.rel(path)])
        after = check_files(run, checked)
        before_it = [f for p in checked for f in self.findings.get(p, ())]
        readable = all(run.program.load(str(path)) is not None for path in changed)
        better = bool(changed) and readable and _is_better(before_it, _flat(after), fixed)
        if better and keep:
            self.originals |= originals
            self.findings |= after
            self.fixed += len(fixed)
        else:
            for path, text in before.items():
                run.change(path, text)
        return better

    def _found_in(self, findings: Sequence[Finding], changed: set[str]) -> list[Path]:
        """The files in which these findings were found, and those with others that a change concerns: a finding may lie
        in a configuration file."""
        wanted = set(map(id, findings))
        return [
            path
            for path, group in self.findings.items()
            if any(id(f) in wanted or not changed.isdisjoint({f.location.path, *f.edited}) for f in group)
        ]

    def _source(self, rel: str) -> SourceFile | None:
        path = self.run.path_of(rel)
        return self.run.checker.source(path) if path is not None else None


def _seeds_first(unit: list[Finding]) -> list[Finding]:
    """Those that give an option for the seed a default, where there are any: others read it then as it is."""
    first = (f for f in unit if f.code.startswith("TRP1") and f.fix is not None)
    return [f for f in first if f.fix is not None and any(_DEFAULT.fullmatch(e.text) for e in f.fix.edits)] or unit


def _identity(finding: Finding) -> tuple[str, ...]:
    """What stays the same of a finding when lines above it come and go."""
    family = str(finding.properties.get("family", ""))
    return finding.location.path, finding.code, family, finding.message, str(finding.location.range.start.column)


def _flat(findings: dict[Path, list[Finding]]) -> list[Finding]:
    return [f for group in findings.values() for f in group]


def _is_better(before: Sequence[Finding], after: Sequence[Finding], fixed: Sequence[Finding]) -> bool:
    """Whether the new text parses, what was fixed is gone, and its rules find no more than before.

    Fixing a finding may reveal another one: a program whose main process is seeded may start
    others that are not.
    """
    was, now = Counter(f.code for f in before), Counter(f.code for f in after)
    if now["TRP001"] > was["TRP001"] or now["TRP003"] > was["TRP003"]:
        return False
    left = Counter(map(_identity, after)) - (Counter(map(_identity, before)) - Counter(map(_identity, fixed)))
    gone = not any(left[_identity(finding)] for finding in fixed)
    return gone and all(now[finding.code] <= was[finding.code] for finding in fixed)


def write_changes(run: Run, originals: dict[Path, SourceFile]) -> None:
    """Write the run's text of these files, each of which must still hold what was read."""
    files: dict[Path, bytes] = {}
    for path in in_order_of_imports(run.program, originals):
        source = originals[path]
        try:
            files[path] = source.encode(run.overlay[path])
        except SourceError as error:
            raise WriteError(path, error.message) from None
    write_files(files, {path: originals[path].encode(originals[path].document) for path in files}, run.root)


def in_order_of_imports(program: Program, paths: Iterable[Path]) -> list[Path]:
    """What is imported before what imports it: a run that is killed while it writes leaves no import of what is not
    there yet."""
    return sorted(paths, key=lambda path: (len(program.project.reachable(path)), path))


__all__ = ["fix", "in_order_of_imports", "write_changes"]
