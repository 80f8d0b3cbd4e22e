"""Applies fixes in rounds, in memory, and writes all changed files at the end, or none of a file that got worse.

A round takes every file's fixes, applies those that do not overlap, and checks the new text: it must parse, and each
fixed rule must have fewer findings there. A file that fails keeps its text from before the round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from torchrepro_lint.engine import Progress, Request, Result, Run, check_files, finish
from torchrepro_lint.fixing import apply_edits, unified_diff, write_files
from torchrepro_lint.model import Finding, Fix, Safety
from torchrepro_lint.source import SourceFile, read_source, source_from_text

MAX_ROUNDS = 10


def fix(request: Request, *, unsafe: bool, write: bool, progress: Progress | None = None) -> Result:
    """Fix what can be fixed. Without `write` nothing on disk changes, and `Result.diffs` says what would."""
    run = Run(request)
    findings = check_files(run, run.files, progress)
    originals: dict[Path, SourceFile] = {}
    given_up: set[Path] = set()
    fixed = 0
    for _ in range(MAX_ROUNDS):
        changed = _round(run, findings, originals, given_up, unsafe)
        if not changed:
            break
        for path, (source, text, applied) in changed.items():
            before = run.overlay.get(path)
            run.change(path, text)
            after = run.check_file(path)
            if _is_better(findings[path], after, applied):
                originals.setdefault(path, source)
                findings[path] = after
                fixed += len(applied)
            else:
                run.change(path, before)
                given_up.add(path)
    if originals:
        findings = check_files(run, run.files)
    result = finish(run, findings)
    result.fixed = fixed
    result.not_fixed = tuple(sorted(run.rel(p) for p in given_up))
    result.diffs = tuple(
        (run.rel(p), unified_diff(run.rel(p), originals[p].text, run.overlay[p])) for p in sorted(originals)
    )
    if request.stdin:
        result.fixed_text = run.overlay[request.stdin[1]]
    elif write and originals:
        _write(run, originals)
    return result


def _round(
    run: Run, findings: dict[Path, list[Finding]], originals: dict[Path, SourceFile], given_up: set[Path], unsafe: bool
) -> dict[Path, tuple[SourceFile, str, Sequence[Fix]]]:
    """The new text of every file that has a fix to apply, and the fixes that went in."""
    changed: dict[Path, tuple[SourceFile, str, Sequence[Fix]]] = {}
    for path in run.files:
        fixes = [f.fix for f in sorted(findings[path], key=lambda f: f.sort_key) if _wanted(f.fix, unsafe)]
        if not fixes or path in given_up or path.suffix == ".ipynb":
            continue
        source = _source(run, path)
        applied = apply_edits(source, [f for f in fixes if f is not None])
        if applied.applied and applied.text != source.text:
            changed[path] = (originals.get(path, source), applied.text, applied.applied)
    return changed


def _wanted(fix: Fix | None, unsafe: bool) -> bool:
    return fix is not None and (unsafe or fix.safety is Safety.SAFE)


def _source(run: Run, path: Path) -> SourceFile:
    if path in run.overlay:
        return source_from_text(run.overlay[path], path, run.rel(path))
    return read_source(path, run.rel(path))


def _is_better(before: Sequence[Finding], after: Sequence[Finding], applied: Sequence[Fix]) -> bool:
    """Whether the new text parses, and every rule that was fixed has as many findings fewer."""
    fixed = Counter(f.code for f in before if f.fix is not None and f.fix in applied)
    was, now = Counter(f.code for f in before), Counter(f.code for f in after)
    if now["TRP001"] or now["TRP003"] > was["TRP003"]:
        return False
    return all(now[code] <= was[code] - count for code, count in fixed.items())


def _write(run: Run, originals: dict[Path, SourceFile]) -> None:
    """Write all changed files: each must still hold what was read."""
    files = {path: source.encode(run.overlay[path]) for path, source in sorted(originals.items())}
    expected = {path: source.encode(source.text) for path, source in sorted(originals.items())}
    write_files(files, expected)


__all__ = ["fix"]
