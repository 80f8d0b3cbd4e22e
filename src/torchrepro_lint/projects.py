"""Several projects in one run: each is checked as if it were alone, and the results are told as one.

One program's seeds say nothing of another project's, and `import utils` in one of two repositories that lie side by
side is never meant for the other.
"""

from __future__ import annotations

import gc
import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint.discover import discover, is_marked, is_top, project_root
from torchrepro_lint.engine import Request, Result

if TYPE_CHECKING:
    from torchrepro_lint.model import Finding


def apart(request: Request) -> Sequence[Request]:
    """What is asked for in each project that the paths belong to, in the order of their folders.

    They are one project if anything at or above them all says so. If not, each path belongs to the nearest project
    around it, and a repository of git in a folder that is in no project is one of its own.
    """
    if request.root is not None or request.stdin is not None or is_marked(project_root(request.paths)):
        return (request,)
    given = {Path(os.path.abspath(path)): path for path in request.paths}  # noqa: PTH100
    paths_of: defaultdict[Path, list[Path]] = defaultdict(list)
    loose = []
    for path, written in given.items():
        root = project_root([next((outer for outer in path.parents if outer in given), path)])
        if is_marked(root):
            paths_of[root].append(written)
        else:
            loose.append(written)
    for paths in _by_disk_folder(loose):
        for root, those in _repositories_in(paths, request).items():
            paths_of[root] += those
    return [request._replace(paths=tuple(paths), root=root) for root, paths in sorted(paths_of.items())]


def _by_disk_folder(paths: Sequence[Path]) -> Iterable[Sequence[Path]]:
    """Paths in no project: together, unless they have nothing in common but the disk."""
    return [[path] for path in paths] if paths and is_top(project_root(paths)) else [paths] * bool(paths)


def _repositories_in(paths: Sequence[Path], request: Request) -> Mapping[Path, Sequence[Path]]:
    """What of `paths`, which are in no project, is to be checked in each: in the repositories below, and in the folder
    around them."""
    root = project_root(paths)
    found = discover(paths, request.resolver.for_path, force_exclude=request.force_exclude)
    inner = [folder for folder in found.repositories if not _lies_in(folder, found.repositories)]
    if not inner:
        return {root: paths}
    inside = set(inner)
    unread = (path for path, _ in found.unreadable if path.is_dir())  # to be told of again
    others = [path for path in (*found.files, *found.missing, *unread) if not _lies_in(path, inside)]
    return {folder: [folder] for folder in inner} | ({root: others} if others else {})


def _lies_in(path: Path, folders: Collection[Path]) -> bool:
    return any(parent in folders for parent in path.parents)


def together(found: Iterable[Result]) -> Result:
    """One result for all, with paths from the folder that has all of them."""
    results = list[Result]()
    for result in found:
        results.append(result)
        if len(results) > 1:
            gc.collect()  # what the project before was read into; a run collects nothing by itself
    if len(results) == 1:
        return results[0]
    from torchrepro_lint.fingerprints import with_fingerprints
    from torchrepro_lint.moved import Moved  # most runs are of one project

    root = _common([result.root for result in results])
    moved = [Moved(result, root) for result in results]
    left_out: defaultdict[str, list[Finding]] = defaultdict(list)
    counted = Counter[str]()
    for each in moved:
        counted.update(each.result.statistics)
        for reason, findings in each.result.left_out.items():
            left_out[reason] += map(each.finding, findings)
    return Result(
        root,
        _sorted(with_fingerprints(_sorted(f for each in moved for f in map(each.finding, each.result.findings)))),
        tuple(rel for each in moved for rel in map(each.rel, each.result.files)),
        tuple(path for result in results for path in result.missing),
        dict(sorted(counted.items(), key=lambda item: (not item[0].startswith("TRP"), item[0]))),
        sum(result.fixed for result in results),
        any(result.made_unsafe for result in results),
        tuple(each.told(reason) for each in moved for reason in each.result.not_fixed),
        tuple(path for result in results for path in result.outside),
        tuple(change for each in moved for change in each.diffs()),
        None,
        tuple(each.told(problem) for each in moved for problem in each.result.problems),
        {reason: _sorted(findings) for reason, findings in left_out.items()},
        _sorted(f for each in moved for f in map(each.finding, each.result.suppressed)),
        {each.rel(rel): tuple(map(each.rel, starts)) for each in moved for rel, starts in each.result.programs.items()},
        {path: text for result in results for path, text in result.texts.items()},
        frozenset(rel for each in moved for rel in map(each.rel, each.result.configurations)),
    )


def _common(folders: Sequence[Path]) -> Path:
    """The folder around all; on several disks the first of them, from which others are named by all of their path."""
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:
        return folders[0]


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.sort_key))


__all__ = ["apart", "together"]
