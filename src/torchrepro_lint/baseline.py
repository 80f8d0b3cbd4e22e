"""The findings that a project knows of and lives with for now: a text file with one line for each.

A line names file, rule and statement, and no line number, so that edits elsewhere and merges seldom touch it. Knows how
such a file is read and written, and which findings it covers; not why a finding was found.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from torchrepro_lint.fingerprints import identity
from torchrepro_lint.model import Finding
from torchrepro_lint.reading import read_regular

HEADER = "# torchrepro-lint baseline, version 1: findings that are known. Made by `check --write-baseline`.\n"
_VERSION = re.compile(r"# torchrepro-lint baseline, version (\d+)\b")
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?: |$)")
_LINE = re.compile(
    r"(?P<path>[^\t]+)\t(?P<code>TRP\d{3})\t(?P<statement>[0-9a-f]{8,64})#(?P<number>[1-9]\d*)\t(?P<text>.*)"
)
_ESCAPE = re.compile(r"\\(?:\\|[tnr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
MAX_BYTES = 50_000_000  # a line for each of some hundred thousand findings
_SHOWN = 80  # characters of a statement, for whoever reads the file
_Key = tuple[str, str, str]  # path, code, statement
_Place = tuple[str, str, str, int]  # and which of these


class BaselineError(Exception):
    """A baseline that cannot be used; the text names the file and the remedy."""


class Entry(NamedTuple):
    """A known finding. `path` counts from the folder of the baseline, `number` from 1 among equal statements."""

    path: str
    code: str
    statement: str
    number: int
    text: str

    @property
    def starts_block(self) -> bool:
        """Whether the statement is a header such as `def main():`, which says little about what is in it."""
        return self.text.endswith(":")


class Checked(Protocol):
    """What a run can say about files."""

    root: Path

    def judges(self, path: Path, code: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Match:
    """Findings against a baseline: `new` ones and `known` ones. Of the entries that cover none, `fixed` are those
    whose findings are gone, and `unjudged` those whose files or rules were not looked at."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    fixed: tuple[Entry, ...]
    unjudged: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The entries of the file at `path`, which is absolute."""

    path: Path
    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Raises BaselineError for a file that is not there, is broken, or has an unresolved merge conflict."""
        try:
            text = read_regular(path, MAX_BYTES).decode("utf-8")
        except FileNotFoundError:
            raise BaselineError(f"{path}: no such file; `--write-baseline {path}` makes it") from None
        except OSError as error:
            raise BaselineError(f"{path}: cannot be read: {error.strerror or error}") from None
        except UnicodeDecodeError:
            raise BaselineError(f"{path}: is not UTF-8") from None
        return cls(path, tuple(sorted(set(_entries(path, text)))))

    def match(self, findings: Sequence[Finding], run: Checked) -> Match:
        """Which of these sorted findings are known.

        Each entry covers one finding. One that is left over covers an equal statement in another file when its own
        file is gone, or no longer has that statement: code was moved. Entries for headers follow only a file that
        is gone, for `if __name__ == "__main__":` is in every program.
        """
        left = {(entry.path, entry.code, entry.statement, entry.number): entry for entry in self.entries}
        known: set[int] = set()
        seen: Counter[_Key] = Counter()
        for finding in findings:
            key = self._key(finding, run)
            seen[key] += 1
            if left.pop((*key, seen[key]), None) is not None:
                known.add(id(finding))
        known |= self._moved([f for f in findings if id(f) not in known], left, run)
        fixed = {entry for entry in left.values() if self._is_over(entry, run)}
        return Match(
            tuple(f for f in findings if id(f) not in known),
            tuple(f for f in findings if id(f) in known),
            tuple(sorted(fixed)),
            tuple(sorted({*left.values()} - fixed)),
        )

    def of(self, findings: Iterable[Finding], others: Iterable[Entry], run: Checked) -> Baseline:
        """The baseline that has these findings, and these entries besides."""
        seen: Counter[_Key] = Counter()
        entries = set(others)
        for finding in findings:
            key = self._key(finding, run)
            seen[key] += 1
            entries.add(Entry(*key, seen[key], _escaped(_shortened(finding.statement))))
        return Baseline(self.path, tuple(sorted(entries)))

    def text(self) -> str:
        """The file."""
        return HEADER + "".join(
            f"{_escaped_path(e.path)}\t{e.code}\t{e.statement}#{e.number}\t{e.text}\n" for e in sorted(self.entries)
        )

    def _moved(self, findings: Sequence[Finding], left: dict[_Place, Entry], run: Checked) -> set[int]:
        """The findings that an unmatched entry of another file covers; such entries are taken from `left`."""
        donors: defaultdict[tuple[str, str], list[_Place]] = defaultdict(list)
        for key, entry in left.items():
            if self._is_gone(entry) or (not entry.starts_block and self._is_over(entry, run)):
                donors[entry.code, entry.statement].append(key)
        found: set[int] = set()
        for finding in findings:
            same = identity(finding)
            if candidates := donors.get((same.code, same.statement)):
                del left[candidates.pop(0)]
                found.add(id(finding))
        return found

    def _key(self, finding: Finding, run: Checked) -> _Key:
        same = identity(finding)
        return self._relative(run.root / same.path), same.code, same.statement

    def _relative(self, path: Path) -> str:
        try:
            return Path(os.path.relpath(path, self.path.parent)).as_posix()
        except ValueError:  # another drive
            return path.as_posix()

    def _absolute(self, entry: Entry) -> Path:
        return Path(os.path.normpath(self.path.parent / entry.path))

    def _is_gone(self, entry: Entry) -> bool:
        return not self._absolute(entry).exists()

    def _is_over(self, entry: Entry, run: Checked) -> bool:
        """Whether the finding would have been found if it were still there."""
        return self._is_gone(entry) or run.judges(self._absolute(entry), entry.code)


def _entries(path: Path, text: str) -> Iterator[Entry]:
    for number, line in enumerate(text.splitlines(), 1):
        if _CONFLICT.match(line):
            raise BaselineError(
                f"{path}:{number}: a merge conflict is not resolved; keep the lines of both sides, without the "
                "markers: --write-baseline takes out those that are no longer needed"
            )
        version = _VERSION.match(line)
        if version and version[1] != "1":
            raise BaselineError(f"{path}:{number}: version {version[1]} of baselines is not known to this release")
        if not line.strip() or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise BaselineError(f"{path}:{number}: not a line of a baseline: {line[:60]!r}")
        yield Entry(_unescaped(found["path"]), found["code"], found["statement"], int(found["number"]), found["text"])


def _shortened(text: str) -> str:
    """The beginning of a long statement, and its last character: a colon says that it is a header."""
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]}...{text[-1]}"


def _escaped_path(path: str) -> str:
    """A path that begins like a comment or a conflict marker is told apart from one."""
    return f"\\x{ord(path[0]):02x}{_escaped(path[1:])}" if path[:1] in tuple("#<=>|") else _escaped(path)


def _escaped(text: str) -> str:
    """On one line, without tabs, and nothing in it that a terminal or an editor would obey."""
    if text.isprintable() and "\\" not in text:
        return text
    return "".join(map(_escaped_character, text))


def _escaped_character(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    return character.encode("unicode_escape").decode()


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(found: re.Match[str]) -> str:
    simple = {"\\\\": "\\", "\\t": "\t", "\\n": "\n", "\\r": "\r"}
    return simple.get(found[0]) or chr(int(found[0][2:], 16))
