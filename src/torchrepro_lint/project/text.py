"""The project's text, searched for words: which files can hold the caller of a function, or a `set_epoch`.

Knows bytes alone. When many words were asked for, it is read once more for all words that it has.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from torchrepro_lint.reading import digest
from torchrepro_lint.tracking import Memo, Question, Tracker, Untracked

if TYPE_CHECKING:
    from torchrepro_lint.timings import Kind

# The kinds under which questions are noted.
TOO_LARGE, MENTIONING, CONTAINING, DEFINES, MATCH = "too large", "mentioning", "containing", "defines", "match"
DERIVING, USING = "deriving", "using"
HAS, CONTENT, DEFINING, DERIVES, FRONTS = "has", "content", "defining", "derives", "fronts"
MAX_BYTES = 24_000_000  # beyond this a search by text costs more than its answer is worth: unknown
MAX_SEARCHES = 16  # then all words are listed, which costs as much as 50 searches: most projects ask for more
_DEFINITION = rb"\b(?:def|class)\s+(\w+)"
_BASES = rb"\bclass\s+\w+\s*\(([^()]*)"
_IN_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") | frozenset(range(128, 256))
_ONLY_WORDS = bytes(byte if byte in _IN_WORDS else ord(" ") for byte in range(256))  # a table for `translate`
_SIZE = (TOO_LARGE,)
_SEARCHING = "searching the project"
Timed: TypeAlias = "Callable[[Kind, str], AbstractContextManager[None]]"


def untimed(kind: Kind, name: str) -> AbstractContextManager[None]:  # noqa: ARG001
    """Count no time."""
    return nullcontext()


class ProjectText:
    """All Python files of the project as bytes, read on the first question. `files` lists them, and `read` raises
    OSError for what is none; `timed` counts the time of searches."""

    def __init__(
        self,
        files: Callable[[], Collection[Path]],
        read: Callable[[Path, int], bytes],
        tracker: Tracker | None = None,
        timed: Timed = untimed,
    ) -> None:
        self._timed = timed
        self._files = files
        self._read = read
        self._tracker = tracker or Untracked()
        self._changed: dict[Path, bytes] = {}
        self._found: dict[Question, list[Path]] = {}
        self._matches: Memo[list[Path] | None] = Memo(self._tracker)
        self._matched: dict[tuple[re.Pattern[bytes], tuple[bytes, ...]], dict[Path, bool]] = {}  # each file by itself
        self._was_too_large: bool | None = None
        self._searches = 0
        self._indexes: dict[Callable[[bytes], set[bytes]], dict[bytes, list[Path]]] = {}  # by what they are of
        self.changes = 0  # how often a file was changed: what is kept of the text holds for one number
        # The files that a file imports, as far as `importers` was asked.
        self.imports: Memo[frozenset[str]] = Memo(self._tracker)
        self.reachable: Memo[frozenset[Path]] = Memo(self._tracker)  # those that it imports through others, too

    @property
    def _contents(self) -> dict[Path, bytes] | None:
        return None if self._is_too_large else self._read_contents

    @property
    def _is_too_large(self) -> bool:
        if self._was_too_large is None:
            known = self._tracker.recalled(_SIZE, bool)
            self._was_too_large = known[0] if known is not None else self._read_contents is None
        self._tracker.note(_SIZE, self._was_too_large)
        return self._was_too_large

    def _ask(self, question: Question, work: Callable[[], list[Path]]) -> list[Path]:
        """The files that a search finds, in order of path: those that an earlier run found, where they are known. On
        whether the project is too large, every search rests as well."""
        found = self._found.get(question)
        if found is None:
            known = self._tracker.recalled(question, self._in_order)
            with self._timed("step", _SEARCHING):
                found = self._found[question] = known[0] if known is not None else work()
        self._tracker.note(question, found)
        return found

    def _in_order(self, names: Collection[str]) -> list[Path]:
        numbers = sorted(self._places[name] for name in names if name in self._places)
        return [self._listed[number] for number in numbers]

    @cached_property
    def _listed(self) -> Sequence[Path]:
        return tuple(self._files())

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(path): number for number, path in enumerate(self._listed)}

    @cached_property
    def _read_contents(self) -> dict[Path, bytes] | None:
        with self._timed("step", _SEARCHING):
            return self._all_contents()

    def _all_contents(self) -> dict[Path, bytes] | None:
        contents: dict[Path, bytes] = {}
        total = 0
        for path in self._files():
            try:
                contents[path] = self.read(path)
            except OSError:
                continue
            total += len(contents[path])
            if total > MAX_BYTES:
                return None
        return contents

    @cached_property
    def size(self) -> float:
        """How many bytes it has, infinitely many where it is too large to be searched; no answer rests on that."""
        return float("inf") if self._read_contents is None else sum(map(len, self._read_contents.values()))

    def fronts(self, packages: Collection[str]) -> list[Path]:
        """The `__init__.py` of the packages of these names, in order; none where the project is too large."""
        _ = self._is_too_large
        return self._ask(
            (FRONTS, *sorted(packages)), lambda: [path for path in self._contents or () if is_front(path, packages)]
        )

    def of(self, path: Path) -> str:
        """The text of one file, empty where it cannot be read or the project is too large."""
        content = (self._contents or {}).get(path, b"")
        self._tracker.note((CONTENT, str(path)), digest(content))
        return content.decode(errors="replace")

    def change(self, path: Path, text: str | None) -> tuple[bytes, bytes] | None:
        """Let `text` stand in for the file from now on; None for what is on disk. Gives what the file had and what it
        has now, if that is known."""
        self.changes += 1
        self._found.clear()
        self._matches.clear()
        for matched in self._matched.values():
            matched.pop(path, None)
        self._was_too_large = None
        if text is None:
            self._changed.pop(path, None)
        else:
            self._changed[path] = text.encode(errors="surrogatepass")
        read = self.__dict__.get("_read_contents") or {}  # nothing is read for this alone
        if path in read:
            before, read[path] = read[path], self.read(path)
            for of, index in self._indexes.items():
                self._renew(index, path, of(before), of(read[path]))
            return before, read[path]
        return None

    def _renew(self, index: dict[bytes, list[Path]], path: Path, before: set[bytes], now: set[bytes]) -> None:
        """Let an index be that of the text which a file has now. Its lists have been given away: they stay as they
        are."""
        for word in before ^ now:
            found = index.get(word, [])
            at = bisect_left(found, self._places[str(path)], key=lambda other: self._places[str(other)])
            index[word] = [*found[:at], *([path] if word in now else []), *found[at + (word in before) :]]

    def read(self, path: Path) -> bytes:
        """One file as it is now."""
        return self._changed[path] if path in self._changed else self._read(path, MAX_BYTES)

    def derived(self, kind: str, path: Path, work: Callable[[str], tuple[str, ...]]) -> tuple[str, ...]:
        """What `work` takes from the text of one file, which is empty where the project is too large."""
        question = (kind, str(path))
        known = None if self._is_too_large else self._tracker.recalled(question, lambda row: tuple(map(str, row)))
        if known is None:
            known = [work((self._contents or {}).get(path, b"").decode(errors="replace"))]
        self._tracker.note(question, known[0])
        return known[0]

    def has(self, path: Path, pattern: re.Pattern[bytes]) -> bool:
        """Whether the text of one file matches."""
        found = pattern.search((self._contents or {}).get(path, b"")) is not None
        self._tracker.note((HAS, str(path), pattern.pattern.decode(), str(pattern.flags)), found)
        return found

    def any_match(self, pattern: re.Pattern[bytes], signs: Sequence[bytes] = ()) -> bool | None:
        """Whether any file's text matches, of which one of `signs` is part, if any are given, in any case; None when
        the project is too large."""
        found = self._matches.get((pattern, tuple(signs)), self._matching, (pattern, signs))
        return None if found is None else bool(found)

    def matching(self, pattern: re.Pattern[bytes], signs: Sequence[bytes] = ()) -> list[Path] | None:
        """The files that `any_match` is about, in order of path."""
        return self._matches.get((pattern, tuple(signs)), self._matching, (pattern, signs))

    def _matching(self, pattern: re.Pattern[bytes], signs: Sequence[bytes]) -> list[Path] | None:
        if self._is_too_large:
            return None

        def find() -> list[Path]:
            contents, matched = self._contents or {}, self._matched.setdefault((pattern, tuple(signs)), {})
            new = ((path, text) for path, text in contents.items() if path not in matched)
            matched.update((path, matches(pattern, text, signs)) for path, text in new)
            return [path for path in contents if matched[path]]

        words = (sign.decode() for sign in signs)
        return self._ask((MATCH, pattern.pattern.decode(), str(pattern.flags), *words), find)

    def containing(self, part: str) -> list[Path] | None:
        """The files whose text contains `part`, in order of path; None when the project is too large."""
        if self._is_too_large:
            return None
        return self._ask((CONTAINING, part), lambda: self._search(part.encode(errors="surrogateescape")))

    def mentioning(self, word: str) -> list[Path] | None:
        """The files in whose text the identifier `word` stands by itself, not within a longer one, in order of path;
        None when the project is too large."""
        if self._is_too_large or not word.isidentifier():  # a script may be called `train-resnet`
            return self.containing(word)
        return self._ask((MENTIONING, word), lambda: self._find(word))

    def using(self, word: str) -> list[Path] | None:
        """The files that mention a word other than to define it or in a line of comment; None as for `mentioning`."""
        if self._is_too_large:
            return None
        return self._ask((USING, word), lambda: self._using(word.encode(errors="surrogateescape")))

    def _using(self, word: bytes) -> list[Path]:
        found = self._find(word.decode(errors="surrogateescape"))
        return [path for path in found if uses(word, (self._contents or {})[path])]

    def defines_function(self, name: str) -> bool:
        """Whether any file has a function or class of this name; True when the project is too large to tell."""
        return self._is_too_large or bool(self._ask((DEFINES, name), lambda: self._with(name, definitions)))

    def defining(self, name: str) -> list[Path]:
        """The files that have a function or class of this name, in order of path; none when the project is too large to
        tell."""
        _ = self._is_too_large
        return self._ask((DEFINING, name), lambda: self._with(name, definitions))

    def derives(self, name: str) -> bool:
        """Whether any file has a class that is derived from one of this name; True when the project is too large to
        tell."""
        return self._is_too_large or bool(self._ask((DERIVES, name), lambda: self._with(name, bases)))

    def deriving(self, name: str) -> list[Path]:
        """The files that have a class that is derived from one of this name, in order of path; none when the project
        is too large to tell."""
        _ = self._is_too_large
        return self._ask((DERIVING, name), lambda: self._with(name, bases))

    def _with(self, name: str, of: Callable[[bytes], set[bytes]]) -> list[Path]:
        """The files that have a name among what is taken `of` their text."""
        if of not in self._indexes:
            self._indexes[of] = _by_word(self._contents or {}, of)
        return self._indexes[of].get(name.encode(errors="surrogateescape"), [])

    def _search(self, needle: bytes) -> list[Path]:
        return [path for path, content in (self._contents or {}).items() if needle in content]

    def _find(self, name: str) -> list[Path]:
        self._searches += 1
        if words in self._indexes or self._searches > MAX_SEARCHES:
            return self._with(name, words)
        word = name.encode(errors="surrogateescape")
        by_itself = re.compile(rb"%b(?<![\w\x80-\xff]%b)(?![\w\x80-\xff])" % (word, word))  # a plain start is quick
        return [path for path in self._search(word) if by_itself.search((self._contents or {})[path])]


def uses(word: bytes, text: bytes) -> bool:
    """Whether a text has a word other than to define it, or in a line that is a comment."""
    at = text.find(word)
    while at >= 0:
        end, before = at + len(word), text[text.rfind(b"\n", 0, at) + 1 : at]
        is_whole = (
            text[at - 1 : at].translate(_ONLY_WORDS) in b" " and text[end : end + 1].translate(_ONLY_WORDS) in b" "
        )
        if is_whole and not before.lstrip().startswith(b"#") and not before.rstrip().endswith((b"def", b"class")):
            return True
        at = text.find(word, end)
    return False


def matches(pattern: re.Pattern[bytes], text: bytes, signs: Sequence[bytes]) -> bool:
    """Whether a text matches; where one of `signs` is part of each match, only the lines around them are looked at."""
    if not signs:
        return pattern.search(text) is not None
    lowered = text.lower()
    return any(pattern.search(text, *place) for sign in signs for place in _lines_around(sign, lowered))


def _lines_around(sign: bytes, text: bytes) -> Iterator[tuple[int, int]]:
    """From where to where each line with a sign goes, with the line before and the line after."""
    at = text.find(sign)
    while at >= 0:
        begin = text.rfind(b"\n", 0, max(text.rfind(b"\n", 0, at), 0)) + 1
        end = text.find(b"\n", at)
        after = text.find(b"\n", end + 1) if end >= 0 else -1
        yield begin, after if after >= 0 else len(text)
        at = text.find(sign, end) if end >= 0 else -1


def is_front(path: Path, packages: Collection[str]) -> bool:
    """Whether a file is what importing one of these packages runs."""
    return path.name == "__init__.py" and path.parent.name in packages


def definitions(content: bytes) -> set[bytes]:
    """The names of the functions and classes that a text defines."""
    return set(re.findall(_DEFINITION, content))


def bases(content: bytes) -> set[bytes]:
    """The names among the base classes that a text gives its classes."""
    return {name for written in re.findall(_BASES, content) for name in words(written)}


def words(content: bytes) -> set[bytes]:
    """The identifiers in a text."""
    return set(content.translate(_ONLY_WORDS).split())


def _by_word(contents: Mapping[Path, bytes], of: Callable[[bytes], set[bytes]]) -> dict[bytes, list[Path]]:
    found: dict[bytes, list[Path]] = {}
    for path, content in contents.items():
        for word in of(content):
            found.setdefault(word, []).append(path)
    return found
