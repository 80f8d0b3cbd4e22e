"""Which files to read: the Python files under some paths, without what is excluded or ignored.

Knows file names, excludes, `.gitignore` and symbolic links; of what is in the files, only a shebang.
"""

# A Path for each entry of a large folder would cost more than the walk itself, and where a folder may not be
# entered or a name is too long, os.path says no while Path raises.
# ruff: noqa: PTH100, PTH110, PTH112, PTH114, PTH118, PTH206

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from torchrepro_lint.globs import Globs, gitignore_patterns
from torchrepro_lint.reading import CONFIGURATIONS, Reach, read_regular, read_start
from torchrepro_lint.records import NamedTuple
from torchrepro_lint.settings import Settings

SUFFIXES = (".py", ".pyi", ".ipynb")
NATIVE_SUFFIXES = (".cu", ".cuh", ".cpp", ".cc", ".cxx", ".h", ".hpp", ".hip")
ROOT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", "torchrepro-lint.toml", ".git")
_SHEBANG = rb"#!.*(?:\b(?:python|pypy)[0-9.]*\b|\buv run\b)"

SettingsFor = Callable[[Path], Settings]
_Wanted = Callable[["os.DirEntry[str]", Reach], bool]


class Discovery(NamedTuple):
    """Absolute, sorted paths: `files` to check, `missing` ones that were named, and folders with the reason
    why they cannot be listed. `root` is the project's folder, `outside` are links out of it, which are not followed.
    `is_whole` says that `files` are all Python files of the project, under the same settings everywhere; `repositories`
    are the folders looked into that are repositories of git."""

    files: tuple[Path, ...]
    missing: tuple[Path, ...]
    unreadable: tuple[tuple[Path, str], ...]
    root: Path
    outside: tuple[Path, ...] = ()
    is_whole: bool = False
    repositories: tuple[Path, ...] = ()


def discover(paths: Sequence[Path], settings_for: SettingsFor, *, force_exclude: bool) -> Discovery:
    """Find the Python files that `paths` name or contain. A link out of the project is followed only if it is named: a
    stranger's repository may hold links to files of whoever runs this, and a report would quote them.

    A file that is named itself is taken whatever its name, and although excluded unless `force_exclude`.
    """
    root = project_root(paths)
    walk = _Walk(settings_for, [root, *map(_absolute, paths)])
    missing: list[Path] = []
    for path in map(_absolute, paths):
        if not os.path.exists(path):
            missing.append(path)
        elif force_exclude and walk.excludes(path):
            continue
        elif os.path.isdir(path):
            walk.folder(path)
        else:
            walk.add(str(path), is_link=os.path.islink(path))
    files = walk.files()
    unreadable = tuple(sorted(set(walk.unreadable)))
    is_whole = [*map(_absolute, paths)] == [root] and walk.is_uniform and not force_exclude
    missed, outside = tuple(sorted(set(missing))), tuple(sorted(walk.outside))
    return Discovery(files, missed, unreadable, root, outside, is_whole, tuple(sorted(walk.repositories)))


def python_files(root: Path, settings: Settings) -> tuple[Path, ...]:
    """Every Python file of the project at `root`, sorted, under the settings of the root."""
    return _files(root, settings, _is_python_file)


def native_files(root: Path, settings: Settings) -> tuple[Path, ...]:
    """Every C++ and CUDA source of the project, likewise."""
    return _files(root, settings, _is_native_file)


def configuration_files(root: Path, settings: Settings) -> tuple[Path, ...]:
    """Every YAML, JSON and TOML file of the project, likewise."""
    return _files(root, settings, _is_configuration)


def _files(root: Path, settings: Settings, is_wanted: _Wanted) -> tuple[Path, ...]:
    walk = _Walk(lambda _: settings, [root], is_wanted)
    walk.folder(_absolute(root))
    return walk.files()


def named_from(root: Path, path: Path) -> str:
    """A file as it is named below a project's root, with `/`; one that is not below it by all of its path."""
    top, name = str(root).rstrip(os.sep) + os.sep, str(path)
    if name.startswith(top):  # as nearly all do: a Path takes ten times as long to say so
        return name[len(top) :].replace(os.sep, "/")
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def project_root(paths: Sequence[Path]) -> Path:
    """The nearest folder at or above all `paths` that has a project's marker; without one, the current folder
    when it contains them all, unless it is the top of the disk, else the folder that their common package is imported
    from."""
    here = Path.cwd()
    folders = [path if os.path.isdir(path) else path.parent for path in map(_absolute, paths)]
    common = Path(os.path.commonpath(folders)) if folders else here
    marked = next(filter(is_marked, (common, *common.parents)), None)
    if marked is not None:
        return marked
    return here if common.is_relative_to(here) and not is_top(here) else _imported_from(common)


def is_marked(folder: Path) -> bool:
    """Whether something in a folder says that a project begins there."""
    return any(os.path.exists(folder / marker) for marker in ROOT_MARKERS)


def is_top(folder: Path) -> bool:
    """Whether a folder is the top of its disk, which is nobody's project."""
    return folder == folder.parent


def _imported_from(folder: Path) -> Path:
    """The folder around the packages that `folder` is in. What is installed beside a package is not its project."""
    outside = next((f for f in (folder, *folder.parents) if not os.path.exists(f / "__init__.py")), folder)
    return folder if outside.name in ("site-packages", "dist-packages") else outside


class _Walk:
    """Files found so far. A symbolic link counts only if what it points to was not found by its own name."""

    def __init__(self, settings_for: SettingsFor, within: Sequence[Path], is_wanted: _Wanted | None = None) -> None:
        self.settings_for = settings_for
        self._is_wanted = is_wanted or _is_python_file
        self.outside: set[Path] = set()
        self._reach = Reach(within)
        self.unreadable: list[tuple[Path, str]] = []
        self.repositories: set[Path] = set()
        self._real: dict[str, str] = {}
        self._links: dict[str, str] = {}
        self._linked_folders: dict[str, _Ignored | None] = {}
        self._seen_folders: set[str] = set()
        self._settings: set[Settings] = set()

    @property
    def is_uniform(self) -> bool:
        """Whether all folders that were looked into have the same settings."""
        return len(self._settings) <= 1

    def files(self) -> tuple[Path, ...]:
        """Everything found, sorted; looks into linked folders last."""
        while self._linked_folders:
            name = min(self._linked_folders)
            self._descend(name, os.path.realpath(name), self._linked_folders.pop(name))
        found = dict(self._real)
        for name, target in sorted(self._links.items()):
            found.setdefault(target, name)
        return tuple(map(Path, sorted(found.values(), key=lambda name: name.split(os.sep))))

    def add(self, name: str, *, is_link: bool, real_folder: str | None = None) -> None:
        if is_link:
            target = os.path.realpath(name)
            if self._reaches(name, target):
                self._links[name] = target
        else:
            folder, base = os.path.split(name)
            self._real.setdefault(os.path.join(real_folder or os.path.realpath(folder), base), name)

    def _reaches(self, link: str, target: str) -> bool:
        """Whether a link may be followed."""
        if self._reach.has(target):
            return True
        self.outside.add(Path(link))
        return False

    def excludes(self, path: Path) -> bool:
        """Whether `path` or a folder above it, as far as settings and `.gitignore` reach, is left out."""
        excluded, ignored = self._excludes_of(path.parent), self._ignored_around(path)
        rules = ignored.rules if ignored else []
        limits = [base for base, _ in (excluded, *rules) if base] or [str(project_root([path]))]
        reached = [str(part) for part in (*path.parents, path) if any(_inside(str(part), base) for base in limits)]
        if any(_verdict([excluded], part, os.path.isdir(part)) for part in reached):
            return True
        is_ignored = any(_verdict(rules, part, os.path.isdir(part)) for part in reached)
        return ignored is not None and is_ignored and not ignored.tracks(str(path))

    def folder(self, top: Path) -> None:
        """Add what is in a folder, at any depth."""
        self._descend(str(top), os.path.realpath(top), self._ignored_around(top))

    def _descend(self, top: str, real: str, ignored: _Ignored | None) -> None:
        stack = [(top, real, ignored)]
        while stack:
            folder = stack.pop()
            if folder[1] not in self._seen_folders:
                self._seen_folders.add(folder[1])
                stack += self._visit(*folder)

    def _visit(self, name: str, real: str, ignored: _Ignored | None) -> Iterator[tuple[str, str, _Ignored | None]]:
        """Add the files of one folder, whose `real` path has no links in it; the folders in it, with what git leaves
        out there."""
        try:
            with os.scandir(name) as listing:
                entries = list(listing)
        except OSError as error:
            self.unreadable.append((Path(name), error.strerror or str(error)))
            return
        names = {entry.name for entry in entries}
        if ".git" in names:
            self.repositories.add(Path(name))
            ignored = _Ignored(name, self._repository_rules(name))
        if ".gitignore" in names and ignored is not None:
            ignored = ignored.with_rules(self._read_gitignore(os.path.join(name, ".gitignore"), name))
        rules = self._excludes_of(Path(name))
        for entry in entries:
            is_dir = _is_folder(entry)
            if not is_dir and not self._is_wanted(entry, self._reach):
                continue
            if _verdict([rules], entry.path, is_dir):
                continue
            within = ignored
            if ignored is not None and ignored.has(entry.path, is_dir):
                if not ignored.tracks(entry.path):
                    continue
                within = ignored._replace(is_whole=True)
            if is_dir and entry.is_symlink():
                if self._reaches(entry.path, os.path.realpath(entry.path)):
                    self._linked_folders[entry.path] = within
            elif is_dir:
                yield entry.path, os.path.join(real, entry.name), within
            else:
                self.add(entry.path, is_link=entry.is_symlink(), real_folder=real)

    def _ignored_around(self, path: Path) -> _Ignored | None:
        """What the repository around `path` leaves out there; None without a repository."""
        chain = [path, *path.parents]
        depth = next((n for n, folder in enumerate(chain) if os.path.exists(folder / ".git")), 0)
        if not depth:
            return None
        ignored = _Ignored(str(chain[depth]), self._repository_rules(str(chain[depth])))
        for folder in reversed(chain[1 : depth + 1]):
            ignored = ignored.with_rules(self._read_gitignore(str(folder / ".gitignore"), str(folder)))
        return ignored

    def _repository_rules(self, root: str) -> list[_Rules]:
        return self._read_gitignore(os.path.join(root, ".git", "info", "exclude"), root)

    def _read_gitignore(self, name: str, folder: str) -> list[_Rules]:
        """The rules in a `.gitignore`; a folder of that name has none, as for git."""
        try:
            text = read_regular(name).decode("utf-8", errors="surrogateescape")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return []
        except OSError as error:
            self.unreadable.append((Path(name), f"cannot be read: {error.strerror or error}"))
            return []
        patterns = tuple(gitignore_patterns(text))
        return [(folder, _compiled(patterns))] if patterns else []

    def _excludes_of(self, folder: Path) -> _Rules:
        """The excludes that hold in a folder; outside its settings' own folder only bare names can match."""
        settings = self.settings_for(folder)
        self._settings.add(settings)
        base = str(settings.base)
        if folder != settings.base and not _inside(str(folder), base):
            base = folder.anchor
        return base.rstrip(os.sep), _compiled(settings.exclude + settings.extend_exclude)


_Rules = tuple[str, Globs]  # a folder, with no separator at its end, and patterns relative to it


class _Ignored(NamedTuple):
    """What git leaves out in a folder of the repository at `top`: what the rules say, or all of it, where the folder
    itself `is_whole` left out; but nothing that git tracks."""

    top: str
    rules: list[_Rules]
    is_whole: bool = False

    def with_rules(self, rules: list[_Rules]) -> _Ignored:
        return self._replace(rules=[*self.rules, *rules])

    def has(self, path: str, is_dir: bool) -> bool:
        return self.is_whole or _verdict(self.rules, path, is_dir)

    def tracks(self, path: str) -> bool:
        from torchrepro_lint.tracked import tracks  # most folders hold nothing that is left out

        return tracks(self.top, path)


def _verdict(rules: Sequence[_Rules], path: str, is_dir: bool) -> bool:
    """Whether the rules leave `path` out; the last one that matches decides."""
    for base, globs in reversed(rules):
        if _inside(path, base):
            verdict = globs.verdict(path[len(base) + 1 :].replace(os.sep, "/"), is_dir)
            if verdict is not None:
                return verdict
    return False


def _inside(path: str, base: str) -> bool:
    return path.startswith(base) and path[len(base) : len(base) + 1] == os.sep


@lru_cache(maxsize=512)
def _compiled(patterns: tuple[str, ...]) -> Globs:
    return Globs(patterns)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    """A folder to look into. A linked one only if it is a package: links to data sets are common and vast."""
    try:
        if not entry.is_symlink():
            return entry.is_dir()
        return entry.is_dir() and os.path.exists(os.path.join(entry.path, "__init__.py"))
    except OSError:
        return False


def _is_python_file(entry: os.DirEntry[str], reach: Reach) -> bool:
    try:
        if entry.name.endswith(SUFFIXES):
            return entry.is_file()
        if "." in entry.name or not entry.is_file() or not entry.stat().st_mode & stat.S_IXUSR:
            return False
        return reach.includes(entry.path) and re.match(_SHEBANG, read_start(entry.path, 200)) is not None
    except OSError:
        return False


def _is_configuration(entry: os.DirEntry[str], reach: Reach) -> bool:  # noqa: ARG001
    try:
        return entry.name.endswith(CONFIGURATIONS) and entry.is_file()
    except OSError:
        return False


def _is_native_file(entry: os.DirEntry[str], reach: Reach) -> bool:
    try:
        return entry.name.endswith(NATIVE_SUFFIXES) and entry.is_file() and reach.includes(entry.path)
    except OSError:
        return False


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
