"""From a path to its settings: the closest configuration upward, what it extends, the command line over it.

Knows how layers combine; what a single value may be is checked elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from torchrepro_lint.settings.tables import TABLE, SettingsError, is_there, origin_in, own_file, own_table, shown
from torchrepro_lint.settings.validation import checked, path_text, quoted
from torchrepro_lint.settings.values import Settings, covers

# os.path answers False where Path raises: for folders that may not be entered, names that are too long.
# ruff: noqa: PTH112


MAX_CHAIN = 32  # files that extend one another


class SettingsResolver:
    """Finds the settings for a path, which are cached per folder.

    `known` maps every code to its rule's name. `overrides` has kebab-case keys as a configuration file has,
    and goes over any file. With `config` that file is used for everything; with `isolated` no file is.
    """

    def __init__(
        self,
        known: Mapping[str, str],
        *,
        isolated: bool = False,
        config: Path | None = None,
        overrides: Mapping[str, object] | None = None,
    ) -> None:
        self._known = known
        self._overrides = dict(overrides or {})
        self._by_folder: dict[Path, Settings] = {}
        self._everywhere: Settings | None = None
        if isolated:
            self._everywhere = self._finished(Settings(Path.cwd()))
        elif config is not None:
            self._everywhere = self._finished(self._explicit(_absolute(config))._replace(base=Path.cwd()))

    def for_path(self, path: Path) -> Settings:
        """The settings for a file or a folder, which need not exist."""
        if self._everywhere is not None:
            return self._everywhere
        if path in self._by_folder:
            return self._by_folder[path]
        path = _absolute(path)
        return self._for_folder(path if os.path.isdir(path) else path.parent)

    def _for_folder(self, folder: Path) -> Settings:
        """Of the folders from here upwards, the first that has settings decides for all below it."""
        passed: list[Path] = []
        here, found = folder, self._by_folder.get(folder)
        while found is None:
            passed.append(here)
            file = own_file(here)
            if file is not None:
                found = self._finished(self._read(file, ()))
            elif here.parent == here:
                found = self._finished(Settings(Path.cwd()))
            else:
                here = here.parent
                found = self._by_folder.get(here)
        self._by_folder.update(dict.fromkeys(passed, found))
        return found

    def _finished(self, settings: Settings) -> Settings:
        return self._layered(settings, self._overrides, lambda key: f"--{key}")

    def _explicit(self, path: Path) -> Settings:
        if own_table(path) is None:
            raise SettingsError(f"{shown(path)}: has no [tool.{TABLE}] table")
        return self._read(path, ())

    def _read(self, path: Path, extended_by: tuple[Path, ...]) -> Settings:
        """The settings in a file, over those in the file that it extends."""
        if path in extended_by:
            circle = " -> ".join(shown(step) for step in (*extended_by[extended_by.index(path) :], path))
            raise SettingsError(f"{origin_in(extended_by[-1], 'extend')}: a circle of files: {circle}")
        if len(extended_by) > MAX_CHAIN:
            raise SettingsError(f"{origin_in(extended_by[-1], 'extend')}: more than {MAX_CHAIN} files in a row")
        values = dict(own_table(path) or {})
        below = Settings(path.parent)
        if "extend" in values:
            origin = origin_in(path, "extend")
            target = _absolute(path.parent / _in_home(path_text(values.pop("extend"), origin), origin))
            if not is_there(target):
                raise SettingsError(f"{origin}: no such file: {shown(target)}")
            below = self._read(target, (*extended_by, path))._replace(base=path.parent)
        return self._layered(below, values, lambda key: origin_in(path, key))

    def _layered(self, below: Settings, values: Mapping[str, object], origin_of: Callable[[str], str]) -> Settings:
        """`values` put over `below`. Lists that extend or ignore add up, except that `select` starts anew."""
        if not values:
            return below
        new = {key: checked(key, value, origin_of(key), self._known) for key, value in values.items()}
        origins = tuple({**dict(below.origins), **{key: origin_of(key) for key in new}}.items())
        ignore, extend_select = new.get("ignore", ()), new.get("extend-select", ())
        if "select" not in new and below.select is not None:
            new["select"] = _without(below.select, ignore)
        if "select" not in values:
            new["extend-select"] = (*_without(below.extend_select, ignore), *extend_select)
            new["ignore"] = (*_without(below.ignore, extend_select), *ignore)
        else:
            new["extend-select"], new["ignore"] = extend_select, ignore
        for key in ("extend-exclude", "per-file-ignores"):
            new[key] = (*getattr(below, _attribute(key)), *new.get(key, ()))
        return below._replace(origins=origins, **{_attribute(key): value for key, value in new.items()})


def _in_home(text: str, origin: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise SettingsError(f"{origin}: {quoted(text)} names the folder of a user who is not known here") from None


def _without(selectors: tuple[str, ...], overruled_by: tuple[str, ...]) -> tuple[str, ...]:
    """`selectors` without those that a higher layer overrules, however specific they are."""
    return tuple(item for item in selectors if not any(covers(higher, item) for higher in overruled_by))


def _attribute(key: str) -> str:
    return key.replace("-", "_")


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 - without following links
