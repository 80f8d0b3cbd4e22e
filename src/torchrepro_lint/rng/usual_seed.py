"""The number that a project seeds with, for places where no name holds a seed: of the numbers that its code calls
seeds, the most usual one of the nearest files.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import ModuleFacts, last_name
from torchrepro_lint.project.declarations import declared_options
from torchrepro_lint.project.entries import is_test
from torchrepro_lint.rng.seed_options import SEED_NAME, is_seed

MAX_FILES = 40  # of a project that speak of seeds, which are read to find the usual one
_SIGNS = ("seed", "Seed", "SEED", "random_state", "RandomState", "default_rng", "Random(")
_IS_SEED = re.compile(r"(?!n_|num_|max_|min_)(?:\w+_)?seed|random_?state", re.IGNORECASE)
_SEEDS = re.compile(  # what a function is called that is given one
    r"(?:\w+_)?seed(?:_(?:all|everything|torch|rng|random|numpy|python|cuda))*|default_rng|Random(?:State)?"
    r"|(?:set|init|fix)_?random_?(?:seed|state)s?|SeedSequence|PRNGKey"
)


def usual_seed(facts: ModuleFacts, program: Program) -> int:
    """What a fix in a file seeds with where no name holds a seed: what the settings say, if anything; else the most
    usual number of the file, or of those that it imports; else what most files of the project agree on, asked folder by
    folder outwards; one file of another folder decides nothing."""
    return program.project.seed or _usual(facts, program)


@remembered
def _usual(facts: ModuleFacts, program: Program) -> int:
    project, own = program.project, Path(facts.source.path)
    speaking = {path for sign in _SIGNS for path in project.text.containing(sign) or ()} - {own}
    for files in ([facts], _loaded(speaking & project.reachable(own), program)):
        counts = Counter(number for other in files for number in _numbers(other))
        if counts:
            return _most_usual(counts, project.seed)
    for folder in own.parents:
        files = [f for f in _loaded({p for p in speaking if folder in p.parents}, program) if not is_test(f)]
        choices = [_most_usual(Counter(numbers), project.seed) for f in files if (numbers := list(_numbers(f)))]
        number, files_with_it = next(iter(Counter(choices).most_common(1)), (project.seed, 0))
        is_near = all(Path(f.source.path).parent == own.parent for f in files)
        if 2 * files_with_it > len(choices) and (is_near or files_with_it > 1):
            return number
        if folder == project.root:
            break
    return project.seed


def _most_usual(counts: Counter[int], default: int) -> int:
    """Of equally usual numbers the one that would be taken anyway, else the first."""
    number, times = counts.most_common(1)[0]
    return default if counts[default] == times else number


def _loaded(paths: set[Path], program: Program) -> list[ModuleFacts]:
    files = (program.load(str(path)) for path in sorted(paths)[:MAX_FILES])
    return [facts for facts in files if facts is not None]


def _numbers(facts: ModuleFacts) -> Iterator[int]:
    """The numbers that the code of a file calls seeds, or seeds with."""
    for node in ast.walk(facts.tree):
        yield from (v.value for v in _given(node) if isinstance(v, ast.Constant) and is_seed(v))  # type: ignore[misc]
    options = (o.value for name, o in declared_options(facts).items() if _is_named(name))
    yield from (value for value in options if type(value) is int and 0 <= value < 2**32)


def _given(node: ast.AST) -> Iterator[ast.expr | None]:
    """The values that a node calls a seed."""
    match node:
        case ast.keyword(arg=str(name), value=value) if _is_named(name):
            yield value
        case ast.Call(func=function, args=[value, *_]) if _SEEDS.fullmatch(last_name(function)):
            yield value
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if _is_named(last_name(target)):
            yield value
        case ast.AnnAssign(target=target, value=value) if _is_named(last_name(target)):
            yield value
        case ast.Dict(keys=keys, values=values):
            yield from (
                v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant) and _is_named(k.value)
            )
        case ast.arguments(posonlyargs=first, args=others, defaults=defaults, kwonlyargs=last, kw_defaults=of_last):
            pairs = [*zip((first + others)[::-1], defaults[::-1], strict=False), *zip(last, of_last, strict=True)]
            yield from (value for parameter, value in pairs if _is_named(parameter.arg))


def _is_named(name: object) -> bool:
    return isinstance(name, str) and bool(_IS_SEED.fullmatch(name) or SEED_NAME.fullmatch(name))
