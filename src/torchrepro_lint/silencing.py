"""Writes a `# noqa` comment for each finding: a way to begin, or to say that something is as it should be.

A comment goes to the end of the statement that the finding starts in. A file is left alone where its program would not
be the same afterwards, or where its findings would not be silent.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from torchrepro_lint.engine import FAILURES, Progress, Request, Result, Run, check_files, check_users, finish
from torchrepro_lint.fixing import apply_edits, unified_diff
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.model import Edit, Finding, Fix, Position, Range, Safety
from torchrepro_lint.repair import write_changes
from torchrepro_lint.source import SourceFile
from torchrepro_lint.suppression import UNUSED, statement_lines


def silence(request: Request, reason: str, *, write: bool, progress: Progress | None = None) -> Result:
    """Silence what would be reported in the files given. Without `write` nothing on disk changes.

    Raises WriteError or ConflictError, with nothing written, when a file cannot be written or has changed.
    """
    run = Run(request)
    found = check_files(run, run.files, progress)
    wanted, _ = run.narrowed(sorted((f for group in found.values() for f in group), key=lambda f: f.sort_key))
    originals: dict[Path, SourceFile] = {}
    reasons: list[str] = []
    for path in dict.fromkeys((*run.files, *sorted(filter(None, (run.path_of(f.location.path) for f in wanted))))):
        group = [f for f in wanted if f.location.path == run.rel(path) and f.code not in (*FAILURES, UNUSED)]
        if not group:
            continue
        source = run.checker.source(path)
        if _silence_file(run, path, group, reason):
            originals[path] = source
        else:
            reasons.append(f"{run.rel(path)}: not changed: comments would change what the program does")
    result = finish(run, check_files(run, run.files) | check_users(run))
    diffs = tuple(
        (source.rel, unified_diff(source.rel, source.document, run.overlay[path])) for path, source in originals.items()
    )
    if write and originals:
        write_changes(run, originals)
    return result._replace(not_fixed=tuple(reasons), diffs=diffs)


def _silence_file(run: Run, path: Path, findings: Sequence[Finding], reason: str) -> bool:
    """Let a text with comments stand in for the file, if it is the same program without these findings."""
    facts = run.program.load(str(path))
    if facts is None:
        return False
    before = ast.dump(facts.tree)
    edits = tuple(_edits(facts, findings, reason))
    fix = Fix(Safety.SAFE, "Silence it", edits)
    result = apply_edits(lambda rel: facts.source if rel == facts.source.rel else None, [fix])
    if not result.documents:
        return False
    old = run.overlay.get(path)
    run.change(path, result.documents[facts.source.rel])
    after = run.program.load(str(path))
    if after is not None and ast.dump(after.tree) == before and not _are_left(run, path, findings):
        return True
    run.change(path, old)
    return False


def _are_left(run: Run, path: Path, findings: Sequence[Finding]) -> bool:
    """Whether one of the findings is found again: on the same line, for no line has come or gone."""
    places = {(f.code, f.location.cell, f.location.range.start.line) for f in findings}
    return any((f.code, f.location.cell, f.location.range.start.line) in places for f in run.check_file(path))


def _edits(facts: ModuleFacts, findings: Sequence[Finding], reason: str) -> Iterator[Edit]:
    source = facts.source
    by_line: dict[int, set[str]] = {}
    for finding in findings:
        _, last = statement_lines(source, facts, _text_line(source, finding))
        by_line.setdefault(last, set()).add(finding.code)
    for line, codes in sorted(by_line.items()):
        listed = next((s for s in source.suppressions if s.line == line and s.kind != "ignore-file" and s.codes), None)
        if listed is not None:
            place = listed.code_ranges[-1].end
            yield Edit(source.rel, Range(place, place), "".join(f", {code}" for code in sorted(codes)))
        else:
            place = Position(line, len(source.line(line).rstrip()) + 1)
            why = f" - {reason}" if reason else ""
            yield Edit(source.rel, Range(place, place), f"  # noqa: {', '.join(sorted(codes))}{why}")


def _text_line(source: SourceFile, finding: Finding) -> int:
    line = finding.location.range.start.line
    if finding.location.cell is None:
        return line
    return line + next((first for first, number in source.cells if number == finding.location.cell), 1) - 1
