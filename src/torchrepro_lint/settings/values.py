"""The settings that hold for a folder, and which rules they enable.

Plain values: where they come from, and whether they are valid, is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from torchrepro_lint.globs import Globs
from torchrepro_lint.records import NamedTuple

DEFAULT_EXCLUDE = (
    ".bzr", ".direnv", ".eggs", "*.egg-info", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".torchrepro_cache", ".tox", ".venv",
    ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules", "site-packages",
    "venv",
)  # fmt: skip


class Settings(NamedTuple):
    """Configuration for a folder. Globs are relative to `base`; selectors are codes, prefixes or ALL.

    `select` is None where the default rules apply. `origins` pairs each key (kebab-case) with where it was set.
    """

    base: Path
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    seed: int = 0
    torch: str | None = None
    seed_functions: tuple[str, ...] = ()
    loader_classes: tuple[str, ...] = ()
    rng_functions: tuple[str, ...] = ()
    evidence: str | None = None
    baseline: str | None = None
    min_certainty: str = "depends"
    src: tuple[str, ...] = (".", "src")
    max_file_size: int = 10
    max_file_seconds: int = 60
    cache_dir: str = ".torchrepro_cache"
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def max_bytes(self) -> int:
        """The largest file that is read."""
        return self.max_file_size * 1_000_000

    def origin(self, key: str) -> str:
        """Where `key` was set, for messages."""
        return dict(self.origins).get(key, "the default")

    def enabled(self, default_codes: Collection[str], all_codes: Collection[str]) -> frozenset[str]:
        """The rules to run. Of several selectors for a rule the longest decides, and at a tie `ignore`."""
        chosen = frozenset(default_codes) if self.select is None else frozenset[str]()
        select = (*(self.select or ()), *self.extend_select)
        return frozenset(
            code
            for code in all_codes
            if max(_weight(select, code), 0 if code in chosen else -1) > _weight(self.ignore, code)
        )

    def ignored_in(self, path: str | Path, all_codes: Collection[str]) -> frozenset[str]:
        """The rules that `per-file-ignores` switches off for a file; a relative path counts from `base`."""
        if not self.per_file_ignores:
            return frozenset()
        whole = Path(path)
        name = (whole.relative_to(self.base) if whole.is_relative_to(self.base) else whole).as_posix().lstrip("/")
        ignored = [item for glob, items in self.per_file_ignores if Globs([glob]).covers(name) for item in items]
        return frozenset(code for code in all_codes if _weight(ignored, code) >= 0)


class SettingsSource(Protocol):
    """Where the settings of a path come from."""

    def for_path(self, path: Path) -> Settings: ...


def covers(selector: str, code: str) -> bool:
    """Whether a selector names a code, or everything that another selector names."""
    return selector == "ALL" or code.startswith(selector)


def _weight(selectors: Collection[str], code: str) -> int:
    """How specific the most specific selector for a rule is; -1 when none names it."""
    return max((0 if item == "ALL" else len(item) for item in selectors if covers(item, code)), default=-1)
