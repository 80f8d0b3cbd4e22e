"""The program's own seed, as an expression that is valid at a given place; else the configured constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchrepro_lint.dataflow.abstract_values import Origin, Result
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import Binding, ModuleFacts, Scope
from torchrepro_lint.project.declarations import declared_options
from torchrepro_lint.project.names import Variable

_SEED_NAME = re.compile(
    r"(?:(?:base|default|exp|experiment|fixed|global|init|initial|main|manual|master|my|program|rand|random|rng|run|torch"
    r"|train|training)_?)?seed(?:_?(?:num|number|val|value))?",
    re.IGNORECASE,
)
_CONFIG_NAMES = frozenset({"args", "opt", "opts", "cfg", "config", "conf", "hparams", "flags", "options", "params"})
_DECLARING = ("add_argument", "option")
_OFF = re.compile(
    r"disabl|no (?:fixed )?seed|not (?:be )?(?:set|fix|seed)|\boff\b|unset|without|random seed (?:if|when|is)"
    r"|non-?determin|(?:if|when|for) (?:None|0|zero|negative)",
    re.IGNORECASE,
)


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
        if _SEED_NAME.fullmatch(name) and self._is_number(name, binding, owner):
            return OwnSeed(name, binding, owner, is_parsed=False)
        option = self._option(name, binding, owner) or self._field(binding, owner)
        if option is not None:
            return OwnSeed(f"{name}.{option}", binding, owner, is_parsed=True)
        return None

    def _is_number(self, name: str, binding: Binding, owner: Scope) -> bool:
        """Whether a name is bound to a number, here or in the module that it is imported from."""
        if binding.kind == "import":
            variable = self._program.names.lookup(name, owner)
            made = variable.bindings if isinstance(variable, Variable) else []
            return len(made) == 1 and is_seed(made[0].value)
        return is_seed(binding.value)

    def _field(self, binding: Binding, owner: Scope) -> str | None:
        """The field for the seed of a configuration: `cfg = Config()`, `args = tyro.cli(Args)`."""
        if binding.kind != "assign" or not isinstance(binding.value, ast.Call):
            return None
        call = binding.value
        for node in (call.func, *call.args[:1]):
            held = self._program.resolve(node, owner) if isinstance(node, ast.Name | ast.Attribute) else None
            if isinstance(held, Scope) and held.kind == "class":
                fields = (n for n, made in held.bindings.items() if len(made) == 1 and is_seed(made[0].value))
                given = {k.arg for k in call.keywords}
                return next((n for n in fields if _SEED_NAME.fullmatch(n) and n not in given), None)
        return None

    def _option(self, name: str, binding: Binding, owner: Scope) -> str | None:
        """The option for the seed that a name holds with others."""
        if not self._holds_options(name, binding, owner):
            return None
        option = self._option_of(self._home(name, binding, owner))
        is_passed = binding.kind != "parameter" or self._is_passed_options(owner, name, option or "")
        return option if is_passed else None

    def _holds_options(self, name: str, binding: Binding, owner: Scope) -> bool:
        """Whether a name holds parsed arguments: assigned from `parse_args()`, or a parameter called `args`."""
        if binding.kind == "parameter":
            return name in _CONFIG_NAMES and binding.value is None
        return (
            binding.kind == "assign" and isinstance(binding.value, ast.Call) and self._are_parsed(name, binding, owner)
        )

    def _is_passed_options(self, function: Scope, name: str, option: str) -> bool:
        """Whether the code itself reads the option from `name` here, or every known caller passes parsed arguments."""
        reads = (n for n in ast.walk(function.node) if isinstance(n, ast.Attribute) and n.attr == option)
        if any(isinstance(n.value, ast.Name) and n.value.id == name for n in reads):
            return True
        return self._are_parsed(name, function.bindings[name][0], function)

    def _are_parsed(self, name: str, binding: Binding, owner: Scope) -> bool:
        made = self._made(name, binding, owner)
        functions = [o.node.func for o in made if isinstance(o, Result)]
        parsed = [f for f in functions if isinstance(f, ast.Attribute) and f.attr == "parse_args"]
        return bool(parsed) and (binding.kind != "parameter" or len(parsed) == len(made))

    def _made(self, name: str, binding: Binding, owner: Scope) -> list[Origin]:
        """What a name is bound to; a parameter, to what every caller passes."""
        value = binding.value
        if binding.kind == "parameter":
            names = (n for n in ast.walk(owner.node) if isinstance(n, ast.Name) and n.id == name)
            value = next(names, None)
        return self._program.origins(value, owner) if value is not None else []

    def _home(self, name: str, binding: Binding, owner: Scope) -> ModuleFacts:
        """The file that parses the arguments that a name holds."""
        made = self._made(name, binding, owner)
        return next((o.scope.facts for o in made if isinstance(o, Result)), owner.facts)

    def _option_of(self, facts: ModuleFacts) -> str | None:
        """The option for the seed that is declared with a number as its default: in this file, which parses the
        arguments, or in one that it imports where this file declares none at all."""
        own = _seed_option(facts)
        if own or declared_options(facts) or any(facts.calls.get(spelled) for spelled in _DECLARING):
            return own
        reachable = self._program.project.reachable(facts.source.path)
        declaring = {p for sign in ("seed", "Seed") for p in self._program.project.text.containing(sign) or ()}
        others = [self._program.load(str(path)) for path in sorted(declaring & set(reachable))]
        found = {_seed_option(other) for other in others if other is not None} - {None}
        return found.pop() if len(found) == 1 else None


def _seed_option(facts: ModuleFacts) -> str | None:
    """The option for the seed in a file; None where it is off by default, or one of several that differ."""
    options = {name: o for name, o in declared_options(facts).items() if _SEED_NAME.fullmatch(name)}
    name = "seed" if "seed" in options else next(iter(options), None)
    if name is None or type(options[name].value) is not int:
        return None
    value = options[name].value
    assert isinstance(value, int)
    return name if value > 0 or (value == 0 and not _means_off(name, facts)) else None


def _means_off(name: str, facts: ModuleFacts) -> bool:
    """Whether the help of an option says that its default switches the seed off."""
    for spelled in _DECLARING:
        for call, _ in facts.calls.get(spelled, ()):
            flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            helps = [k.value.value for k in call.keywords if k.arg == "help" and isinstance(k.value, ast.Constant)]
            if any(f.lstrip("-").replace("-", "_") == name for f in flags) and any(_OFF.search(str(h)) for h in helps):
                return True
    return False


def numbered(seed: str, number: int) -> str:
    """A seed of its own for what is the `number`th of its kind: `3`, `args.seed + 3`."""
    if not number:
        return seed
    return str(int(seed) + number) if seed.isdecimal() else f"{seed} + {number}"


def is_seed(value: ast.expr | None) -> bool:
    """Whether an expression is a number that every generator takes as its seed."""
    return isinstance(value, ast.Constant) and type(value.value) is int and 0 <= value.value < 2**32


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
