"""The linter as a library: `from torchrepro_lint import check`.

What is public is what `torchrepro_lint.__all__` lists; all else may change in any release. Prints nothing, writes no
file and reads no environment variable.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torchrepro_lint import cards
from torchrepro_lint.baseline import BaselineError
from torchrepro_lint.engine import Request
from torchrepro_lint.engine import check as _checked
from torchrepro_lint.model import Finding
from torchrepro_lint.narrowing import as_configured
from torchrepro_lint.projects import apart, together
from torchrepro_lint.settings import SettingsError, SettingsResolver


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    `findings` are sorted by path, place, code and message; their paths, and `files`, are relative to `root`, with `/`.
    `problems` says what could not be checked: paths that do not exist, folders that cannot be listed. A file that
    cannot be read or parsed is a finding of TRP001. `left_out` has what the settings `baseline` and `min-certainty`
    keep out of the findings, by the reason in words.
    """

    root: Path
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    problems: tuple[str, ...]
    left_out: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether all that was asked for could be checked."""
        return not self.problems and not any(finding.code in ("TRP001", "TRP003") for finding in self.findings)


def check(
    *paths: str | os.PathLike[str],
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    extend_select: Iterable[str] = (),
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
    torch: str | None = None,
    settings: Mapping[str, object] | None = None,
    text: str | None = None,
) -> Report:
    """Report what makes a training run differ from the next one, as `torchrepro-lint check` does.

    `paths` are files and folders, by default the current folder. Rules are codes, names, prefixes or ALL. Settings come
    from configuration files, unless `isolated`, or from the one file `config`; `settings` go over them, with the keys
    of such a file. `torch` is a version such as "2.5" or ">=2.4,<2.9". With `text`, the single path names a file whose
    content it is, whatever is on disk.

    Raises SettingsError for a rule or a setting that does not exist or has no such value, and ValueError for `text`
    without one path.
    """
    overrides: dict[str, object] = dict(settings or {})
    overrides |= {"select": tuple(select)} if select is not None else {}
    overrides |= {key: tuple(rules) for key, rules in (("ignore", ignore), ("extend-select", extend_select)) if rules}
    overrides |= {"torch": torch} if torch is not None else {}
    resolver = SettingsResolver(
        cards.codes(), isolated=isolated, config=Path(config) if config is not None else None, overrides=overrides
    )
    request = _request(tuple(map(Path, paths)) or (Path(),), resolver, torch, text)
    try:
        requests = (each._replace(narrowings=as_configured(each)) for each in apart(request))
        result = together(map(_checked, requests))
    except BaselineError as error:
        raise SettingsError(f"baseline: {error}") from None
    missing = (f"no such file or folder: {path}" for path in result.missing)
    left_out = {reason: found for reason, found in result.left_out.items() if found}
    return Report(result.root, result.findings, result.files, (*missing, *result.problems), left_out)


def _request(paths: tuple[Path, ...], resolver: SettingsResolver, torch: str | None, text: str | None) -> Request:
    if text is None:
        return Request(paths, resolver, torch)
    if len(paths) != 1:
        raise ValueError("text stands for one file, whose path is given")
    return Request((), resolver, torch, stdin=(text, Path.cwd() / paths[0]))
