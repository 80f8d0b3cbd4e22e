"""`--show-settings` and `--show-files`: what a run would do, without running it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.streams import complain, write
from torchrepro_lint.discover import discover
from torchrepro_lint.report.escaping import as_json, visible
from torchrepro_lint.report.places import shown_path
from torchrepro_lint.settings import Settings, SettingsResolver


def show_files(options: Options, resolver: SettingsResolver) -> int:
    """Print the files that would be checked, one on each line."""
    found = discover(options.roots, resolver.for_path, force_exclude=options.force_exclude)
    write(f"{visible(shown_path(Path(), str(file), Path.cwd()))}\n" for file in found.files)
    for path in found.missing:
        complain(f"no such file or folder: {path}")
    for path, reason in found.unreadable:
        complain(f"{path}: {reason}")
    return 2 if found.missing or found.unreadable else 0


def show_settings(options: Options, resolver: SettingsResolver) -> int:
    """Print the settings of each path as TOML, with the origin of each."""
    missing = [path for path in options.roots if not path.exists()]
    for path in missing:
        complain(f"no such file or folder: {path}")
    write(
        line + "\n"
        for path in options.roots
        if path not in missing
        for line in _described(path, resolver.for_path(path))
    )
    return 2 if missing else 0


def _described(path: Path, settings: Settings) -> Iterator[str]:
    yield visible(f"# settings for {path}; patterns are relative to {settings.base}")
    for name in settings._fields:
        if name in ("base", "origins"):
            continue
        key = name.replace("_", "-")
        value = getattr(settings, name)
        shown = f"{key} = {_toml(value)}" if value is not None else f"# {key} is not set"
        yield f"{shown}  # {visible(settings.origin(key))}"
    every = cards.codes()
    enabled = settings.enabled(set(every) - cards.off_by_default(), every)
    yield f"# rules that run: {', '.join(sorted(enabled)) or 'none'}"


def _toml(value: object) -> str:
    """Strings, whole numbers, lists of strings, and the pairs of per-file-ignores."""
    if isinstance(value, tuple) and value and isinstance(value[0], tuple):
        return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return as_json(value, indent=None)
