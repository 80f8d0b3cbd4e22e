"""The files of a project, linked by what they import. Read when a question leads to them, and freed again when too
many are held.

Paths choose what is reported, not what is understood: this is all that can be understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchrepro_lint import catalogue
from torchrepro_lint.index import ModuleFacts
from torchrepro_lint.project.configured import Configured
from torchrepro_lint.project.disk import Commands, commands, modules_like, style
from torchrepro_lint.project.files import Files
from torchrepro_lint.project.folders import Folders
from torchrepro_lint.project.importers import imported, imports_beside, imports_in, reachable, users
from torchrepro_lint.project.kinds import NATIVE
from torchrepro_lint.project.libraries import Libraries
from torchrepro_lint.project.listed import ANY
from torchrepro_lint.project.modules import ModuleFinder
from torchrepro_lint.project.names import Names
from torchrepro_lint.project.search_path import may_set_path
from torchrepro_lint.project.text import ProjectText, Timed, untimed
from torchrepro_lint.reading import Reach, digest
from torchrepro_lint.tracking import Memo, Tracker, Untracked

if TYPE_CHECKING:
    from torchrepro_lint.formatter import Style
    from torchrepro_lint.project.configurations import Configurations


_NAME = re.compile(rf"[\w.{ANY}]+")


class Project:
    """One project. `read` gives the facts of a file, or None when it cannot be read; `files` lists all Python files,
    `configurations` those of YAML and the like, `native_files` C++ and CUDA sources; `sources` are folders in which
    imports are looked for, `folders` what they hold; `seed` is what fixes use where a program has none;
    `refused` is told of lists that cannot be read, and why, `timed` what is asked of the project as a whole."""

    def __init__(
        self,
        root: Path,
        read: Callable[[Path], ModuleFacts | None],
        *,
        files: Callable[[], Collection[Path]] = tuple,
        configurations: Callable[[], Collection[Path]] = tuple,
        native_files: Callable[[], Collection[Path]] = tuple,
        sources: Collection[Path] = (),
        torch_version: Callable[[], str | None] = lambda: None,
        seed: int = 0,
        seed_functions: Collection[str] = (),
        loader_classes: Collection[str] = (),
        rng_functions: Collection[str] = (),
        tracker: Tracker | None = None,
        folders: Folders | None = None,
        refused: Callable[[Path, str], None] = lambda path, reason: None,
        timed: Timed = untimed,
    ) -> None:
        self.tracker = tracker or Untracked()
        self.timed = timed
        self.root = root
        self.seed = seed
        self.seed_functions = frozenset(seed_functions)
        self._torch_version = torch_version
        self._native_files = native_files
        self._refused = refused
        self.configured = Configured(loader_classes, rng_functions)
        folders = folders or Folders(Reach([root, *sources]), self.tracker)
        self.reach = folders.reach
        self.text = ProjectText(files, self.reach.read, self.tracker, timed)
        self.files = Files(read, self.text.read, self._is_own, lambda: self.text.size, self.tracker)
        self._configuration_files = configurations
        self.finder = ModuleFinder(root, sources, folders, self.files.search_path, self.tracker)
        self.names = Names(
            self.finder,
            self.load,
            lambda name: self.configured.meaning(catalogue.canonical(name)),
            self.tracker,
            self.text.deriving,
        )
        self.libraries = Libraries(self.text, self.tracker)
        self._kept: Memo[Any] = Memo(self.tracker)

    @cached_property
    def torch_version(self) -> str | None:
        """The torch version or specifier that the rules go by; None for the newest known."""
        return self._torch_version()

    @property
    def style(self) -> Style:
        """How its formatter lays code out."""
        found: Style = self._kept.get(style, lambda: self.disk(style, str(self.root)))
        return found

    @property
    def console_scripts(self) -> dict[str, list[str]]:
        """File -> the names of its functions that the project's packaging makes commands of."""

        def find() -> dict[str, list[str]]:
            asked: Commands = self.disk(commands, str(self.root))
            for path, reason in asked.refused:
                self._refused(Path(path), reason)
            return self.finder.functions(asked.targets)

        found: dict[str, list[str]] = self._kept.get(commands, find)
        return found

    def disk(self, question: Callable[..., Any], *arguments: str) -> Any:
        """What one of the questions of `project.disk` finds in the project's folders."""
        found = question(self.reach, *arguments)
        self.tracker.note((question.__name__, *arguments), found)
        return found

    @cached_property
    def configurations(self) -> Configurations:
        """The YAML, JSON and TOML files that the code may read."""
        from torchrepro_lint.project.configurations import Configurations  # few programs have one

        return Configurations(self.root, self.load, self._configuration_files, self.disk, self.tracker)

    # -- files ------------------------------------------------------------------------------------------------
    def load(self, path: str) -> ModuleFacts | None:
        """The facts of a file, code or configuration; None for a folder and a file that cannot be read."""
        return self.files.load(path)

    def load_if(self, path: str, may: Callable[..., bool], *about: str) -> ModuleFacts | None:
        """The facts of a file, if its code says that it may matter."""
        return self.files.load_if(path, may, *about)

    def load_those(
        self, paths: Iterable[Path], own: ModuleFacts, may: Callable[..., bool], *about: str
    ) -> Iterator[ModuleFacts]:
        """The facts of a file that asks, and of others whose code says that they may matter."""
        for path in paths:
            facts = own if path == own.source.path else self.load_if(str(path), may, *about)
            if facts is not None:
                yield facts

    def _is_own(self, module: str, path: str, *, level: int = 0, whole: bool = False) -> bool:
        """Whether a file would import a module of the project by this name, or as the `whole` name something in one."""
        found = self.finder.find(module, level, path)
        return found is not None and not (whole and found[1])

    def release(self) -> bool:
        """Free files when too many are held, and say whether any were."""
        freed = self.files.release()
        if freed:
            self.names.forget()
            self.libraries.forget()
        return freed

    def change(self, path: Path, text: str | None) -> None:
        """The file now holds `text`, or again what is on disk: read it anew when it is next asked for."""
        self.files.forget(str(path))
        texts = self.text.change(path, text)
        self.names.forget()
        self.libraries.forget()
        if texts is None or any(map(may_set_path, texts)):
            self.finder.forget()
            self.text.imports.clear()
            self.text.reachable.clear()
        elif len(set(map(imports_in, texts))) > 1:
            self.text.imports.drop(path)
            self.text.reachable.clear()

    @property
    def native_texts(self) -> dict[str, str]:
        """The C++ and CUDA sources that can be read, by their paths below the root, in order."""
        found: dict[str, str] = self._kept.get(NATIVE, self._read_native)
        return found

    def _read_native(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self._native_files():
            with suppress(OSError):
                found[path.relative_to(self.root).as_posix()] = self.reach.read(path).decode("utf-8", errors="replace")
        self.tracker.note((NATIVE,), digest(repr(found).encode()))
        return found

    # -- imports ----------------------------------------------------------------------------------------------
    def modules_like(self, name: str, importer: Path) -> list[str]:
        """The names that a module name with unknown parts, in a package of the project, may be: "models.unet"."""
        package = name.partition(ANY)[0].rpartition(".")[0]
        if not _NAME.fullmatch(name) or not package:
            return []
        own = importer.as_posix().endswith(f"/{package.replace('.', '/')}/__init__.py")  # which no search finds
        place = (str(importer), "") if own else self.finder.find(package, 0, str(importer))
        if place is None or place[1]:
            return []
        folder = str(Path(place[0]).parent) if place[0].endswith(".py") else place[0]
        below = name.removeprefix(f"{package}.").replace(ANY, "*")
        return [f"{package}.{module}" for module in self.disk(modules_like, folder, below)]

    def users(self, files: Collection[Path]) -> list[Path]:
        """The files of the project that import these, the nearest first, up to a bound."""
        return users(files, self.text, self.finder)

    def imported(self, path: Path) -> frozenset[str]:
        """The files of the project that a file imports."""
        return imported(path, self.text, self.finder)

    def imports_beside(self, path: Path) -> bool:
        """Whether a file imports what lies beside it by its name alone, as a script can that is started there."""
        return imports_beside(path, self.text, self.finder)

    def reachable(self, path: Path) -> frozenset[Path]:
        """The files that a program which starts in `path` may run code of."""
        return reachable(path, self.text, self.finder)
