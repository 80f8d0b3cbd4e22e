"""The program's own seed, as an expression that is valid at a given place; else the configured constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import Binding, ModuleFacts, Scope
from torchrepro_lint.project.declarations import declared_options

_SEED_NAME = r"(?i)(?:global_|random_|rng_|manual_|base_)?seed"
_CONFIG_NAMES = frozenset({"args", "opt", "opts", "cfg", "config", "conf", "hparams", "flags", "options", "params"})
_OPTION = "seed"
_DECLARING = ("add_argument", "option")


class OwnSeed(NamedTuple):
    """A seed of the program's own: its `text`, and what binds the name that it begins with, in the scope `owner`.

    `is_parsed` says that the name holds the program's arguments.
    """

    text: str
    binding: Binding
    owner: Scope
    is_parsed: bool


class Seeds:
    """Finds seeds in scope. `default` is used where the program has none of its own."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._default = str(program.project.seed)

    def expression(self, scope: Scope, node: ast.AST) -> str:
        """What an expert would write as the seed at `node`: `seed`, `SEED`, `args.seed` or a constant."""
        return self.own(scope, node) or self._default

    def own(self, scope: Scope, node: ast.AST) -> str | None:
        """The program's own seed as written at `node`, None where it has none in scope."""
        found = self.found(scope, node)
        return found.text if found is not None else None

    def found(self, scope: Scope, node: ast.AST) -> OwnSeed | None:
        """The program's own seed at `node`, and where it comes from."""
        for seed in _visible(scope, self._program):
            if _bound_before(seed.binding, seed.owner, scope, node):
                return seed
        return None

    def held(self, name: str, binding: Binding, owner: Scope) -> OwnSeed | None:
        """The seed that a name holds, wherever that is bound."""
        if re.fullmatch(_SEED_NAME, name) and _is_integer(binding.value):
            return OwnSeed(name, binding, owner, is_parsed=False)
        if self._holds_options(name, binding, owner) and self._option_is_set(self._home(binding, owner)):
            return OwnSeed(f"{name}.{_OPTION}", binding, owner, is_parsed=True)
        return None

    def _holds_options(self, name: str, binding: Binding, owner: Scope) -> bool:
        """Whether a name holds parsed arguments: assigned from `parse_args()`, or a parameter called `args`."""
        if binding.kind == "parameter":
            return name in _CONFIG_NAMES and binding.value is None and self._is_passed_options(owner, name)
        if binding.kind != "assign" or not isinstance(binding.value, ast.Call):
            return False
        made = [o.node.func for o in self._program.origins(binding.value, owner) if isinstance(o, Result)]
        return any(isinstance(f, ast.Attribute) and f.attr == "parse_args" for f in made)

    def _is_passed_options(self, function: Scope, name: str) -> bool:
        """Whether the code itself reads `name.seed` here, or every known caller passes parsed arguments."""
        reads = (n for n in ast.walk(function.node) if isinstance(n, ast.Attribute) and n.attr == _OPTION)
        if any(isinstance(n.value, ast.Name) and n.value.id == name for n in reads):
            return True
        calls = self._program.callers_of(function)
        passed = [a for call, _ in calls or () for a in call.args if isinstance(a, ast.Name) and a.id == name]
        return bool(calls) and len(passed) == len(calls or ())

    def _home(self, binding: Binding, owner: Scope) -> ModuleFacts:
        """The file that parses the arguments that a name holds."""
        value, scope = binding.value, owner
        if binding.kind == "parameter":
            calls = self._program.callers_of(owner) or ()
            passed = (
                (a, s) for call, s in calls for a in call.args if isinstance(a, ast.Name) and a.id in _CONFIG_NAMES
            )
            value, scope = next(passed, (None, owner))
        origins = self._program.origins(value, scope) if value is not None else ()
        return next((o.scope.facts for o in origins if isinstance(o, Result)), owner.facts)

    def _option_is_set(self, facts: ModuleFacts) -> bool:
        """Whether the option `--seed` is declared with a number as its default: in this file, which parses the
        arguments, or in one that it imports where this file declares none at all."""
        options = declared_options(facts)
        declared = [options[_OPTION]] if _OPTION in options else []
        if not options and not any(facts.calls.get(spelled) for spelled in _DECLARING):
            reachable = self._program.project.reachable(facts.source.path)
            for path in self._program.project.text.containing(f"--{_OPTION}") or ():
                other = self._program.load(str(path)) if path in reachable else None
                option = declared_options(other).get(_OPTION) if other is not None else None
                declared += [option] if option is not None else []
        return bool(declared) and all(type(o.value) is int for o in declared)


def numbered(seed: str, number: int) -> str:
    """A seed of its own for what is the `number`th of its kind: `3`, `args.seed + 3`."""
    if not number:
        return seed
    return str(int(seed) + number) if seed.isdecimal() else f"{seed} + {number}"


def _is_integer(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and type(value.value) is int


def _visible(scope: Scope, program: Program) -> Iterator[OwnSeed]:
    """The seeds that names of a scope and of those around it hold, innermost scope first, in a fixed order."""
    current: Scope | None = scope
    first = True
    while current is not None:
        if first or current.kind != "class":
            yield from _seeds_of(current, program)
        current, first = current.parent, False


@remembered
def _seeds_of(owner: Scope, program: Program) -> list[OwnSeed]:
    """Those that names of one scope hold, each bound once."""
    once = ((name, made[0]) for name, made in owner.bindings.items() if len(made) == 1)
    found = (Seeds(program).held(name, binding, owner) for name, binding in once)
    return [seed for seed in found if seed is not None]


def _bound_before(binding: Binding, owner: Scope, scope: Scope, node: ast.AST) -> bool:
    """Whether the binding has run when `node` runs: it stands above it, unconditionally, in its own scope."""
    if binding.kind == "parameter":
        return True
    line = getattr(binding.node, "end_lineno", 0)
    body = getattr(owner.node, "body", [])
    plain = binding.node in body if isinstance(body, list) else False
    if owner.kind == "module" and scope.function is not owner:
        return plain and not _in_guard(owner.facts, binding.node)
    plain = plain or (owner.kind == "module" and _in_guard(owner.facts, binding.node))
    return plain and line < getattr(node, "lineno", 0)


def _in_guard(facts: ModuleFacts, node: ast.AST) -> bool:
    return facts.guard is not None and node in facts.guard.body
