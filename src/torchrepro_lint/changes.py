"""Which findings are there because of what has changed since a revision of the repository.

A finding counts when one of its places is on a changed line, or when that revision did not have it: what a change
breaks may lie in another file. For the second question the revision is checked too, in a folder of its own.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torchrepro_lint.engine import Narrowing, Request, Run, check_files
from torchrepro_lint.fingerprints import Identity, identity
from torchrepro_lint.git import Repository
from torchrepro_lint.model import Finding, Location
from torchrepro_lint.reading import CONFIGURATIONS
from torchrepro_lint.settings import Settings, SettingsSource
from torchrepro_lint.source import SourceError, SourceFile, source_from_bytes


def since(revision: str, request: Request, root: Path) -> Narrowing:
    """Leave out what was there before, in the project at `root`. Raises GitError."""
    repository = Repository(root)
    changes = _Changes(repository, repository.merge_base(revision), request, root)
    return Narrowing(f"older than the changes since {revision}", changes.keep)


class _Changes:
    """The working tree of a project against a commit; paths count from the project's root."""

    def __init__(self, repository: Repository, base: str, request: Request, root: Path) -> None:
        self.repository = repository
        self.base = base
        self.request = request
        self.root = root
        prefix = repository.prefix
        self.changed = {
            path[len(prefix) :]: old for path, old in repository.changed(base).items() if path.startswith(prefix)
        }
        self.old_names = {
            path: old[len(prefix) :] for path, old in self.changed.items() if old is not None and old.startswith(prefix)
        }
        self._lines: dict[tuple[str, str], frozenset[int]] = {}
        self._before: dict[str, Counter[Identity]] = {}

    def keep(self, run: Run, findings: Sequence[Finding]) -> Sequence[Finding]:
        """Those that are there because of the changes."""
        touched = {id(f) for f in findings if any(self._is_touched(run, place) for place in f.places)}
        rest = [f for f in findings if id(f) not in touched]
        before = self._found_before(sorted(set(map(_found_in, rest))))
        old: set[int] = set()
        for finding in rest:
            same = identity(finding)
            if before[same]:
                before[same] -= 1
                old.add(id(finding))
        return [f for f in findings if id(f) not in old]

    def _is_touched(self, run: Run, place: Location) -> bool:
        if place.path not in self.changed:
            return False
        if place.path not in self.old_names:
            return True
        source = run.checker.text(self.root / place.path)
        if source is None:
            return True
        lines = self._changed_lines(source)
        first = _line_in_text(source, place.cell, place.range.start.line)
        last = _line_in_text(source, place.cell, place.range.end.line - (place.range.end.column == 1))
        return any(line in lines for line in range(first, max(first, last) + 1))

    def _changed_lines(self, source: SourceFile) -> frozenset[int]:
        key = source.rel, source.text
        if key not in self._lines:
            self._lines[key] = frozenset(_added(self._old_lines(source), source.lines()))
        return self._lines[key]

    def _old_lines(self, source: SourceFile) -> Sequence[str]:
        old = self.repository.prefix + self.old_names[source.rel]
        try:
            return source_from_bytes(self.repository.read(self.base, old), source.path, source.rel).lines()
        except SourceError:
            return ()

    def _found_before(self, files: Sequence[str]) -> Counter[Identity]:
        """What the commit's own version of these files has, under their present names."""
        missing = [path for path in files if path not in self._before]
        names = {path: self.old_names.get(path, path) for path in missing if self.changed.get(path, path) is not None}
        self._before |= {path: Counter() for path in missing}
        if names:
            for name, found in self._checked(set(names.values())).items():
                for path in (path for path, old in names.items() if old == name):
                    self._before[path] = Counter(identity(_renamed(finding, path)) for finding in found)
        return sum((self._before[path] for path in files), Counter[Identity]())

    def _checked(self, names: set[str]) -> dict[str, list[Finding]]:
        """The findings of these files of the commit."""
        with tempfile.TemporaryDirectory(prefix="torchrepro-lint-") as folder:
            top = Path(folder, "repository")
            written = self._written(top)
            root = top / self.repository.prefix if self.repository.prefix else top
            files = tuple(root / name for name in sorted(names) if (self.repository.prefix + name) in written)
            resolver = _Moved(self.request.resolver, _top(self.root, self.repository.prefix), top)
            run = Run(Request(files, resolver, self.request.torch_version, root=root))
            return {run.rel(path): found for path, found in check_files(run, run.files).items()}

    def _written(self, top: Path) -> set[str]:
        """Put the commit's code and configuration under `top`; the paths of the files."""
        written: set[str] = set()
        (top / ".git").mkdir(parents=True)
        for blob in self.repository.source_files(self.base):
            path = top / blob.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(blob.data)
            if blob.executable:
                path.chmod(0o755)
            written.add(blob.path)
        return written


class _Moved:
    """The present settings, for a copy of the repository: what a changed configuration reports anew is no change
    of the code."""

    def __init__(self, settings: SettingsSource, top: Path, copy: Path) -> None:
        self._settings = settings
        self._top = top
        self._copy = copy

    def for_path(self, path: Path) -> Settings:
        """The settings of the file that `path` is a copy of."""
        original = self._settings.for_path(self._top / path.relative_to(self._copy))
        if not original.base.is_relative_to(self._top):
            return original
        evidence = str(original.base / original.evidence) if original.evidence is not None else None
        return original._replace(base=self._copy / original.base.relative_to(self._top), evidence=evidence)


def _top(root: Path, prefix: str) -> Path:
    """The top of the repository, of which `root` is the folder `prefix`."""
    steps = prefix.count("/")
    for folder in (root, root.resolve()):
        top = folder.parents[steps - 1] if steps else folder
        if (top / ".git").exists():
            return top
    return top


def _found_in(finding: Finding) -> str:
    """The code in which it was found: what lies in a configuration file is found where that is used."""
    is_configuration = finding.location.path.endswith(CONFIGURATIONS) and finding.related
    return finding.related[0].location.path if is_configuration else finding.location.path


def _renamed(finding: Finding, path: str) -> Finding:
    if finding.location.path.endswith(CONFIGURATIONS):
        return finding
    return replace(finding, location=replace(finding.location, path=path))


def _line_in_text(source: SourceFile, cell: int | None, line: int) -> int:
    """The line of the joined code that is `line` of a cell."""
    return line if cell is None else next((first for first, number in source.cells if number == cell), 1) + line - 1


def _added(old: Sequence[str], new: Sequence[str]) -> Iterator[int]:
    """The 1-based numbers of the lines of `new` that are not in `old`, or elsewhere."""
    from difflib import SequenceMatcher

    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    middle = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end], autojunk=False)
    for kind, _, _, first, last in middle.get_opcodes():
        if kind in ("replace", "insert"):
            yield from range(start + first + 1, start + last + 1)
