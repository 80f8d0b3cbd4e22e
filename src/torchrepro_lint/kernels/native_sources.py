"""The project's own C++ and CUDA sources: which of the functions that they hand to Python run a kernel that adds floats
with atomics.

A function runs what it names, in its own file before others; of several that Python knows by one name all must add.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import islice
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered_of_texts
from torchrepro_lint.dataflow.reached import reached
from torchrepro_lint.kernels.native_text import Function, Registration, arguments, blanked, functions, registrations
from torchrepro_lint.model import Location, Position, Range

KERNEL = "__global__"
MAX_STEPS = 400  # functions between one that Python calls and the kernel
MAX_ATOMICS = 64  # in one function
MAX_BYTES = 24_000_000  # of all sources: beyond, they take longer to read than the Python files
# What one number is added by is a counter: its sums are exact.
_NUMBER = re.compile(r"(?:\(\s*\w+\s*\)\s*|\w+(?:\s*<[^<>]*>)?\s*\(\s*)?-?\d[\w.]*\s*\)?")
_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_WHOLE = r"(?:unsigned(?:\s+\w+)?|signed|u?int(?:8|16|32|64)?(?:_t)?|u?long|long(?:\s+long)?|size_t|bool|index_t)"


class Atomic(NamedTuple):
    """Where a kernel adds with an atomic: the kernel, and the function that it calls to add."""

    kernel: str
    written: str
    location: Location


@dataclass(frozen=True, eq=False)
class _Source:
    path: str
    functions: tuple[Function, ...]
    registrations: tuple[Registration, ...]
    atomics: Mapping[str, Atomic]  # by the name of the function


@dataclass(eq=False)
class NativeSources:
    """All of a project. `texts` are its sources."""

    texts: Mapping[str, str]
    _known: dict[tuple[str, frozenset[str]], Atomic | None] = field(default_factory=dict)

    @cached_property
    def _sources(self) -> tuple[_Source, ...]:
        return tuple(_read(path, text) for path, text in self.texts.items())

    @cached_property
    def _bound(self) -> Mapping[str, list[tuple[_Source, Registration]]]:
        found: dict[str, list[tuple[_Source, Registration]]] = {}
        for source in self._sources:
            for item in source.registrations:
                if item.uses:
                    found.setdefault(item.name, []).append((source, item))
        return found

    @property
    def names(self) -> frozenset[str]:
        """What Python may call."""
        return frozenset(self._bound)

    def atomic(self, name: str, *, namespace: str | None) -> Atomic | None:
        """Where the function that Python knows as `name` adds: an operator of a namespace of torch.ops, or a function
        of an extension module."""
        bound = [
            (source, item)
            for source, item in self._bound.get(name, ())
            if item.is_operator is (namespace is not None) and namespace in (None, item.module)
        ]
        found = [self._reached(source, item.uses) for source, item in bound]
        if namespace is not None:  # an operator has a kernel for each device
            return next((f for f in found if f is not None), None)
        return found[0] if found and all(f is not None for f in found) else None

    def _reached(self, source: _Source, names: frozenset[str]) -> Atomic | None:
        key = (source.path, names)
        if key not in self._known:
            self._known[key] = next(self._search(source, names), None)
        return self._known[key]

    def _search(self, source: _Source, names: frozenset[str]) -> Iterator[Atomic]:
        def used(place: tuple[_Source, str]) -> Iterator[tuple[_Source, str]]:
            return ((home, name) for home, function in self._definitions(*place) for name in sorted(function.uses))

        for place in reached([(source, name) for name in sorted(names)], used, MAX_STEPS):
            found = self._definitions(*place)
            yield from (home.atomics[function.name] for home, function in found if function.name in home.atomics)

    def _definitions(self, source: _Source, name: str) -> list[tuple[_Source, Function]]:
        """The functions of a name, or the methods of a class, those of the same file before others."""
        found = [(home, f) for home in self._by_name.get(name, ()) for f in home.functions if name in (f.name, f.owner)]
        own = [item for item in found if item[0] is source]
        return own or [(home, f) for home, f in found if name == f.owner or not f.owner]

    @cached_property
    def _by_name(self) -> Mapping[str, list[_Source]]:
        found: dict[str, list[_Source]] = {}
        for source in self._sources:
            for name in {n for f in source.functions for n in (f.name, f.owner) if n}:
                found.setdefault(name, []).append(source)
        return found


@remembered_of_texts
def native_sources(program: Program) -> NativeSources:
    """Those of the project; none where no Python file builds or loads an extension."""
    words = catalogue.table("kernels")["extension_builders"]["words"]
    builds = any(program.project.text.containing(word) for word in words)
    texts = program.project.native_texts if builds else {}
    if sum(map(len, texts.values())) > MAX_BYTES:
        program.store.cut("C++ and CUDA sources, which are too many", "sources")
        texts = {}
    any_adds = any(_atomics().search(text) for text in texts.values())
    return NativeSources(texts if any_adds else {})


def _read(path: str, text: str) -> _Source:
    code = blanked(text)
    found = tuple(functions(code))
    atomics = {f.name: atomic for f in reversed(found) if (atomic := _atomic(f, path, code)) is not None}
    return _Source(path, found, tuple(registrations(text, code)), atomics)


def atomic_in_text(text: str) -> Atomic | None:
    """Where a kernel adds floats that Python has as a text; `{{type}}` in it stands for a word."""
    source = _read("", _PLACEHOLDER.sub(r"__\1__", text))
    return next(iter(source.atomics.values()), None)


def _atomic(function: Function, path: str, code: str) -> Atomic | None:
    """Where a function adds floats itself."""
    for match in islice(_atomics().finditer(function.body), MAX_ATOMICS):
        row = catalogue.names("kernels", "atomics")[match[1]]
        passed = arguments(function.body, match.end() - 1)
        value = passed[row["value"]] if row["value"] < len(passed) else ""
        if value and not _NUMBER.fullmatch(value.strip()) and not _is_whole(passed[row["address"]], function):
            place = function.start + match.start()
            line, column = code.count("\n", 0, place) + 1, place - code.rfind("\n", 0, place)
            shown = Range(Position(line, column), Position(line, column + len(match[1])))
            return Atomic(function.name, match[1], Location(path, shown))
    return None


@cache
def _atomics() -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(catalogue.names('kernels', 'atomics'))})\s*\(")


def _is_whole(address: str, function: Function) -> bool:
    """Whether what is added to holds whole numbers, by the declaration of the name that the address begins with."""
    if re.search(rf"\b{_WHOLE}\s*\*", address):
        return True
    name = re.search(r"[A-Za-z_]\w*", address)
    declared = rf"\b{_WHOLE}\s*(?:const\s*)?[*&]?\s*(?:const\s+|__restrict__\s+)*{name[0] if name else '$'}\b"
    return re.search(declared, function.head + function.body) is not None
