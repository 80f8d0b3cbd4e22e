"""The number that a project seeds with, for places where no name holds a seed: of the numbers that its code calls
seeds, the most usual one of the nearest files.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, remembered
from torchrepro_lint.index import Binding, ModuleFacts, descendants, walk
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.declarations import declared_options, option_names
from torchrepro_lint.project.entries import entries
from torchrepro_lint.project.names import Variable
from torchrepro_lint.rng.seed_options import SEED_NAME, is_seed

MAX_FILES = 40  # of a project that speak of seeds, which are read to find the usual one
_SIGNS = ("seed", "Seed", "SEED", "random_state", "RandomState", "default_rng", "Random(")
_IS_SEED = re.compile(r"(?!n_|num_|max_|min_)(?:\w+_)?seed|random_?state", re.IGNORECASE)
_STATE = re.compile(r"(?:global_|default_)?random_?state", re.IGNORECASE)
_SEEDS = re.compile(  # what a function is called that is given one
    r"(?:\w+_)?seed(?:_(?:all|everything|torch|rng|random|numpy|python|cuda))*|default_rng|Random(?:State)?"
    r"|(?:set|init|fix)_?random_?(?:seed|state)s?|SeedSequence|PRNGKey"
)
_DRAWN_FOR_EYES = frozenset({"TSNE", "UMAP"})  # pictures of what was learned
_TURNED_OFF = re.compile(r"^[ \t\"]*#[ \t#]*[\w.]{0,80}seed\w{0,40}\(", re.MULTILINE)  # also in a notebook's JSON
_READ = re.compile(  # an attribute that is not called, an item, also by `get`
    r"(?:\.[\s\\]{0,80}|(?:\[|\.get\()[\s(]{0,80}u?[\"'])\w{0,80}(?:seed|random_?state)\w{0,80}\b(?!\s{0,80}\()",
    re.IGNORECASE,
)
_KEY = re.compile(r"""["']\w{0,40}(?:seed|random_?state)\w{0,40}["']\s*:""", re.IGNORECASE)  # of a dict


def usual_seed(facts: ModuleFacts, program: Program) -> int:
    """What a fix in a file seeds with where no name holds a seed: what the settings say, if anything; else the most
    usual number of the file, or of those that it imports, of equally usual ones that of the project; else the one
    number of those that import it, or of what these import, if most programs that run it seed with that; else what they
    seed with; else what most files of the project agree on, asked folder by folder outwards; one file of another folder
    decides nothing."""
    return program.project.seed or _usual(facts, program)


@remembered
def _usual(facts: ModuleFacts, program: Program) -> int:
    project, own = program.project, facts.source.path
    if (number := _of_its_files(facts, program)) is not None:
        return number
    every = _speaking(program).every
    users = project.users([own]) if every else []
    using = [path for path in users if path in every]
    told = _told_by(using, program) or _told_by(_imported_by(using, every, program), program)
    running = Counter(_alone(f, program) for f in program.loaded(users[:MAX_FILES]) if entries(f, project))
    number, times = next(iter(running.most_common(1)), (project.seed, 0))
    if len(told) == 1 and 2 * running[next(iter(told))] >= sum(running.values()):
        return told.pop()
    return number if 2 * times > sum(running.values()) else _by_folder(own, program)


def _alone(facts: ModuleFacts, program: Program) -> int:
    """The same of a program, which nobody imports."""
    number = _of_its_files(facts, program)
    return number if number is not None else _by_folder(facts.source.path, program)


@remembered
def _of_its_files(facts: ModuleFacts, program: Program) -> int | None:
    """What a file calls its random state, else the most usual number of it, or else of those that it imports."""
    stated = [made[0].value for made in facts.scope.bindings.values() if _is_at_top(made, facts)]
    numbers = {value.value for value in stated if isinstance(value, ast.Constant) and is_seed(value)}
    if len(numbers) == 1:
        return int(str(numbers.pop()))
    project, own, every = program.project, facts.source.path, _speaking(program).every
    reachable = project.reachable(own) if every else ()
    for files in ([own], [path for path in every if path in reachable and path != own]):
        counts = Counter(number for path in files[:MAX_FILES] for number in _spoken(path, program).numbers)
        if counts:
            number = _most_usual(counts, project.seed)
            tied = {n for n, times in counts.items() if times == counts[number]} if number != project.seed else {number}
            everywhere = _counted(every, program, tied) if len(tied) > 1 else None
            return _most_usual(everywhere, number) if everywhere else number
    return None


def _by_folder(own: Path, program: Program) -> int:
    """What most files agree on of the nearest folder in which any do."""
    project, speaking = program.project, _speaking(program)
    for folder in own.parents if speaking.every else ():
        inside = [path for path in speaking.within.get(folder, ()) if path != own]
        code = [path for path in inside[:MAX_FILES] if not _spoken(path, program).is_test]
        spoken = [_spoken(path, program).numbers for path in code]
        choices = [_most_usual(Counter(numbers), project.seed) for numbers in spoken if numbers]
        number, files_with_it = next(iter(Counter(choices).most_common(1)), (project.seed, 0))
        is_near = all(path.parent == own.parent for path in code)
        if 2 * files_with_it > len(choices) and (is_near or files_with_it > 1):
            return number
        if folder == project.root:
            break
    return project.seed


def _counted(files: Sequence[Path], program: Program, numbers: Collection[int]) -> Counter[int]:
    """How often some files say each of these numbers."""
    return Counter(n for path in files[:MAX_FILES] for n in _spoken(path, program).numbers if n in numbers)


def _told_by(files: Sequence[Path], program: Program) -> set[int]:
    return {n for path in files[:MAX_FILES] if not (it := _spoken(path, program)).is_test for n in it.numbers}


def _imported_by(users: Sequence[Path], speaking: Sequence[Path], program: Program) -> list[Path]:
    """The files that speak of seeds and may be run by programs that do as well: one is that of their seeder."""
    reachable = [program.project.reachable(path) for path in users[:MAX_FILES]]
    return [path for path in speaking if any(path in files for files in reachable)]


def has_own_seed(paths: Collection[Path], program: Program) -> bool:
    """Whether any of the files declares an option for the seed, or reads one from its settings: who writes a number
    where that cannot be read has missed it."""
    speaking = (path for path in _speaking(program).every if path in paths)
    return any(_spoken(path, program).is_read for path in islice(speaking, MAX_FILES))


@remembered
def is_configured(program: Program) -> bool:
    """Whether a YAML file of the project has a key for the seed, whatever it says there; one of many may have."""
    files = program.project.configurations.every_yaml()
    if files is None:
        return True
    found = (node for facts in files for node in walk(facts.tree))
    keys = (key for node in found if isinstance(node, ast.Dict) for key in node.keys)
    return any(isinstance(key, ast.Constant) and _is_named(key.value) for key in keys)


def reads_configured(files: Iterable[ModuleFacts], program: Program) -> bool:
    """Whether the project has such a key, and any of the files may read YAML."""
    readers = catalogue.table("callables")["yaml_readers"]["packages"]
    return any(not facts.packages.isdisjoint(readers) for facts in files) and is_configured(program)


def is_turned_off(paths: Collection[Path], program: Program) -> bool:
    """Whether the author of any of the files has turned a seed off by a `#`."""
    speaking = (path for path in _speaking(program).every if path in paths)
    return any(_spoken(path, program).is_off for path in islice(speaking, MAX_FILES))


def _most_usual(counts: Counter[int], default: int) -> int:
    """Of equally usual numbers the one that would be taken anyway, else the first."""
    number, times = counts.most_common(1)[0]
    return default if counts[default] == times else number


class _Speaking(NamedTuple):
    """The files of a project that speak of seeds, sorted; and those of each folder, with the folders in it."""

    every: list[Path]
    within: dict[Path, list[Path]]


@remembered
def _speaking(program: Program) -> _Speaking:
    text = program.project.text
    found = _Speaking(sorted({path for sign in _SIGNS for path in text.containing(sign) or ()}), {})
    for path in found.every:
        for folder in path.parents:
            found.within.setdefault(folder, []).append(path)
    return found


class _Spoken(NamedTuple):
    """What a file says of seeds: the numbers that its code calls seeds, or seeds with, in the order of the lines,
    whether it reads a seed that its user chooses, and whether a call that seeds is commented out."""

    numbers: tuple[int, ...] = ()
    is_test: bool = True
    is_read: bool = False
    is_off: bool = False


def _spoken(path: Path, program: Program) -> _Spoken:
    return _Spoken(*program.project.files.says(str(path), seeds_spoken_of) or ())


def seeds_spoken_of(facts: ModuleFacts) -> tuple[tuple[int, ...], bool, bool, bool]:
    """The numbers that a file calls seeds, whether it is a test, whether it reads a seed, or has turned one off."""
    return tuple(_numbers_of(facts)), is_test(facts), _reads(facts), _TURNED_OFF.search(facts.source.whole) is not None


def _numbers_of(facts: ModuleFacts) -> Iterator[int]:
    given = [v for v in _given(facts) if isinstance(v, ast.Constant) and is_seed(v)]
    yield from (v.value for v in sorted(given, key=lambda v: (v.lineno, v.col_offset)))  # type: ignore[misc]
    options = (o.value for name, o in declared_options(facts).items() if _is_named(name))
    yield from (value for value in options if type(value) is int and 0 <= value < 2**32)


def _given(facts: ModuleFacts) -> Iterator[ast.expr | None]:
    """The values that a file calls a seed: of arguments, variables, attributes, parameters by default, dicts."""
    for name, calls in facts.calls.items():
        if name in _DRAWN_FOR_EYES:
            continue
        seeds = _SEEDS.fullmatch(name) is not None
        for call, _ in calls:
            yield from (k.value for k in call.keywords if _is_named(k.arg))
            if seeds and call.args:
                yield call.args[0]
    for scope in facts.scope.descend():
        for name in filter(_is_named, scope.bindings):
            yield from (b.value for b in scope.bindings[name] if b.kind in ("assign", "parameter"))
    for name in filter(_is_named, facts.attribute_sets):
        yield from (attribute.value for attribute in facts.attribute_sets[name])
    if _KEY.search(facts.source.whole):
        for node in walk(facts.tree):
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                yield from (v for k, v in pairs if isinstance(k, ast.Constant) and _is_named(k.value))


def _reads(facts: ModuleFacts) -> bool:
    """Whether a file has an option for the seed, or reads one: `config.seed`, `settings["seed"]`. What an object calls
    its own, `self.seed`, it was given elsewhere."""
    if any(map(_is_named, option_names(facts))):
        return True
    nodes = descendants(facts.tree) if _READ.search(facts.source.whole) else ()
    return any(_is_read(node, facts) for node in nodes)


def _is_read(node: ast.AST, facts: ModuleFacts) -> bool:
    match node:
        case ast.Subscript(slice=ast.Constant(value=key)):
            return _is_named(key)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=key), *_]):
            return _is_named(key)
    if not isinstance(node, ast.Attribute):
        return False
    return _is_named(node.attr) and not facts.scope_of(node).is_self(node.value) and facts.call_of(node) is None


def _is_named(name: object) -> bool:
    return isinstance(name, str) and bool(_IS_SEED.fullmatch(name) or SEED_NAME.fullmatch(name))


def seed_constants(facts: ModuleFacts, program: Program) -> dict[str, tuple[str, int]]:
    """The names that a file has for constants which are called seeds, and from which line on, by their numbers: those
    that it imports, also by `from constants import *`, and its own `RANDOM_STATE`."""
    lines = {
        name: getattr(made[0].node, "lineno", 0)
        for name, made in facts.scope.bindings.items()
        if _is_at_top(made, facts)
    }
    for star in facts.star_imports:
        read = {n.id for n in walk(facts.tree) if isinstance(n, ast.Name)} - facts.scope.bindings.keys()
        lines |= dict.fromkeys(read, getattr(star.node, "lineno", 0))
    found = {}
    for name in sorted(filter(_is_named, lines), reverse=True):
        held = program.names.lookup(name, facts.scope)
        made = held.bindings if isinstance(held, Variable) and held.scope.kind == "module" else ()
        if len(made) == 1 and made[0].value is not None and is_seed(made[0].value):
            found[ast.unparse(made[0].value)] = name, lines[name]
    return found


def _is_at_top(made: Sequence[Binding], facts: ModuleFacts) -> bool:
    """Whether a name is imported, or bound once, for whatever draws: `RANDOM_STATE = 42`."""
    match made:
        case [Binding(kind="import")]:
            return True
        case [Binding(kind="assign", node=ast.Assign(targets=[ast.Name(id=name)]) as statement)]:
            return _STATE.fullmatch(name) is not None and facts.parents.get(statement) is facts.tree
    return False
