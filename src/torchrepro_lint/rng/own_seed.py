"""The program's own seed, as an expression that is valid at a given place; else the configured constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from torchrepro_lint.dataflow.abstract_values import Display, Origin, Result, is_configured
from torchrepro_lint.dataflow.binding import named_parameters
from torchrepro_lint.dataflow.enclosing import is_in_body
from torchrepro_lint.dataflow.grafts import written_entries
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import Binding, ModuleFacts, Scope, last_name
from torchrepro_lint.index.parents import descendants
from torchrepro_lint.project.declarations import declarations, declared_options, takes_integers
from torchrepro_lint.project.names import Variable
from torchrepro_lint.rng.draws import is_seeder

_SEED_NAME = re.compile(
    r"(?:(?:base|default|exp|experiment|fixed|global|init|initial|main|manual|master|my|program|rand|random|rng|run|torch"
    r"|train|training)_?)?seed(?:_?(?:num|number|val|value))?",
    re.IGNORECASE,
)
_CONFIG_NAMES = frozenset({"args", "opt", "opts", "cfg", "config", "conf", "hparams", "flags", "options", "params"})
_DECLARING = ("add_argument", "option")
_CHANGING = ("clear", "pop", "popitem", "update")  # methods of a dict
MAX_GROUPS = 4  # of options within one another
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})


class OwnSeed(NamedTuple):
    """A seed of the program's own: its `text`, and what binds the name that it begins with, in the scope `owner`.

    `is_parsed` says that the name holds the program's arguments.
    """

    text: str
    binding: Binding
    owner: Scope
    is_parsed: bool


class _Option(NamedTuple):
    """An option or field for the seed, and which values of it are no seed: `None`, `negative` numbers, or neither."""

    name: str
    off: Literal["None", "negative"] | None = None

    def read(self, holder: str, default: str) -> str:
        """The seed, where `holder` has the options: `default` where it is off."""
        text = f"{holder}.{self.name}"
        if self.off == "negative":
            return f"max({text}, {default})"
        if self.off is None:
            return text
        return f"{text} or 0" if default == "0" else f"{default} if {text} is None else {text}"


class Seeds:
    """Finds seeds in scope. `default` is used where the program has none of its own."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._default = str(program.project.seed)

    def expression(self, scope: Scope, node: ast.AST) -> str:
        """What an expert would write as the seed at `node`: `seed`, `SEED`, `args.seed` or a constant."""
        return self.own(scope, node) or self._default

    def of_generator(self, scope: Scope, node: ast.AST) -> str:
        """The same for a generator made at `node`: what its function seeds with above comes before a constant."""
        given = self._given_above(scope, node) or self._given_to_maker(scope)
        return self.own(scope, node) or given or self._default

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

    def _given_above(self, scope: Scope, node: ast.AST) -> str | None:
        """What a call further up in the same function gives to a seeder, where it means the same at `node`."""
        given = _given_first(scope.function, self._program)
        return given.text if given is not None and given.line < getattr(node, "lineno", 0) else None

    def _given_to_maker(self, scope: Scope) -> str | None:
        """The entry of a configuration with which the function that reads it seeds, where a parameter here holds the
        same one: `config["seed"]`."""
        function = scope.function
        for name in named_parameters(function):
            bound = function.bindings[name]
            if name not in _CONFIG_NAMES or len(bound) != 1:
                continue
            made = self._made(name, bound[0], function)
            if len(made) == 1 and isinstance(made[0], Result):
                entry = _entry_given(made[0], self._program)
                if entry is not None:
                    return name + entry
        return None

    def held(self, name: str, binding: Binding, owner: Scope) -> OwnSeed | None:
        """The seed that a name holds, wherever that is bound."""
        if _SEED_NAME.fullmatch(name) and self._is_number(name, binding, owner):
            return OwnSeed(name, binding, owner, is_parsed=False)
        key = _entry(name, binding, owner)
        if key is not None:
            return OwnSeed(f"{name}[{owner.facts.text(key)}]", binding, owner, is_parsed=False)
        option = self._option(name, binding, owner) or self._field(binding, owner)
        if option is not None:
            return OwnSeed(option.read(name, self._default), binding, owner, is_parsed=True)
        entry = self._entry(name, binding, owner) if name in _CONFIG_NAMES else None
        return OwnSeed(entry, binding, owner, is_parsed=False) if entry is not None else None

    def _entry(self, name: str, binding: Binding, owner: Scope) -> str | None:
        """The entry for the seed of a configuration file that a name holds: of one that is named in the code, written
        as its others are read, or of one that Hydra passes."""
        found = set.intersection(*files) if (files := self._files(name, binding, owner)) else set()
        if found and binding.kind == "parameter":  # the user may choose another file for Hydra
            return f'{name}.get("{min(found)}", {self._default})'
        for node in descendants(owner.node) if found else ():
            match node:
                case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str())) if held == name:
                    return f'{name}["{min(found)}"]'
                case ast.Attribute(value=ast.Name(id=held)) if held == name:
                    if getattr(owner.facts.parents.get(node), "func", None) is not node:  # `config.items()` is a dict's
                        return f"{name}.{min(found)}"
        return None

    def _files(self, name: str, binding: Binding, owner: Scope) -> list[set[str]]:
        """The seeds in each of the configuration files that a name may hold."""
        made: Sequence[Origin] = self._made(name, binding, owner) if binding.kind == "assign" else ()
        if binding.kind == "parameter" and isinstance(owner.node, ast.FunctionDef) and owner.node.decorator_list:
            read = next((n for n in ast.walk(owner.node) if isinstance(n, ast.Name) and n.id == name), None)
            defaults = self._program.defaults
            made = defaults.value(read, owner) if defaults is not None and read is not None else ()
        files = [_seeds_in(o) for o in made if isinstance(o, Display) and is_configured(o)]
        return files if len(files) == len(made) else []

    def _is_number(self, name: str, binding: Binding, owner: Scope) -> bool:
        """Whether a name is bound to a number, here or in the module that it is imported from."""
        if binding.kind == "import":
            variable = self._program.names.lookup(name, owner)
            made = variable.bindings if isinstance(variable, Variable) else []
            return len(made) == 1 and is_seed(made[0].value)
        return is_seed(binding.value)

    def _field(self, binding: Binding, owner: Scope) -> _Option | None:
        """The field for the seed of a configuration: `cfg = Config()`, `args = tyro.cli(Args)`, `cfg: Config`."""
        given: set[str | None] = set()
        classes: list[ast.expr | None] = []
        if binding.kind == "parameter" and binding.value is None:
            classes = [getattr(binding.node, "annotation", None)]
        elif binding.kind == "assign" and isinstance(call := binding.value, ast.Call):
            classes = [call.func, *call.args[:1]]
            given = {k.arg for k in call.keywords}
        for node in classes:
            held = self._program.resolve(node, owner) if isinstance(node, ast.Name | ast.Attribute) else None
            if isinstance(held, Scope) and held.kind == "class":
                fields = (n for n, made in held.bindings.items() if len(made) == 1 and is_seed(made[0].value))
                name = next((n for n in fields if _SEED_NAME.fullmatch(n) and n not in given), None)
                return _Option(name, _off(held.bindings[name][0])) if name is not None else None
        return None

    def _option(self, name: str, binding: Binding, owner: Scope) -> _Option | None:
        """The option for the seed that a name holds with others."""
        if not self._holds_options(name, binding, owner):
            return None
        home = self._home(name, binding, owner)
        declaring = self._declaring(home)
        found = {_seed_option(facts) for facts in declaring} - {None}
        option = found.pop() if len(found) == 1 else None
        if option is None or (binding.kind == "parameter" and _reads(owner, name, option.name)):
            return option
        made = self._made(name, binding, owner)
        is_there = binding.kind != "parameter" or self._are_parsed(name, binding, owner)
        return option if is_there and self._is_of_each_command(option.name, made, {home, *declaring}) else None

    def _holds_options(self, name: str, binding: Binding, owner: Scope) -> bool:
        """Whether a name holds parsed arguments: assigned from `parse_args()`, or a parameter called `args`."""
        if binding.kind == "parameter":
            return name in _CONFIG_NAMES and binding.value is None
        value = _unpacked(binding)
        is_held = isinstance(value, ast.Call) or (name in _CONFIG_NAMES and isinstance(value, ast.Attribute))
        return is_held and self._are_parsed(name, binding, owner)

    def _are_parsed(self, name: str, binding: Binding, owner: Scope) -> bool:
        made = self._made(name, binding, owner)
        functions = [o.node.func for o in made if isinstance(o, Result)]
        parsed = [f for f in functions if isinstance(f, ast.Attribute) and f.attr == "parse_args"]
        return bool(parsed) and (isinstance(binding.value, ast.Call) or len(parsed) == len(made))

    def _made(self, name: str, binding: Binding, owner: Scope) -> list[Origin]:
        """What a name is bound to; a parameter, to what every caller passes."""
        value = _unpacked(binding)
        if binding.kind == "parameter":
            names = (n for n in ast.walk(owner.node) if isinstance(n, ast.Name) and n.id == name)
            value = next(names, None)
        return self._program.origins(value, owner) if value is not None else []

    def _home(self, name: str, binding: Binding, owner: Scope) -> ModuleFacts:
        """The file that parses the arguments that a name holds."""
        made = self._made(name, binding, owner)
        return next((o.scope.facts for o in made if isinstance(o, Result)), owner.facts)

    def _declaring(self, facts: ModuleFacts) -> list[ModuleFacts]:
        """The files that may declare the options that this file parses: itself, or where it declares none at all, those
        that it imports."""
        declares = declared_options(facts) or any(facts.calls.get(spelled) for spelled in _DECLARING)
        if declares:
            return [facts]
        reachable = self._program.project.reachable(facts.source.path)
        naming = {p for sign in ("seed", "Seed") for p in self._program.project.text.containing(sign) or ()}
        others = (self._program.load(str(path)) for path in sorted(naming & set(reachable)))
        return [other for other in others if other is not None]

    def _is_of_each_command(self, option: str, made: Sequence[Origin], files: Collection[ModuleFacts]) -> bool:
        """Whether options have this one whichever command is given: it is declared for the parser itself, or for each
        of the commands, of which one must be given."""
        commands = {call for facts in files for call, _ in facts.calls.get("add_parser", ())}
        if not commands:
            return True
        parsing = {p for o in made if isinstance(o, Result) for p in self._parsers(o.node.func, o.scope)}
        sites = [site for facts in files for site in declarations(option, facts)]
        declared = {parser for call, scope in sites for parser in self._parsers(call.func, scope)}
        groups = [call for facts in files for call, _ in facts.calls.get("add_subparsers", ())]
        return not parsing.isdisjoint(declared) or (all(map(_is_required, groups)) and commands <= declared)

    def _parsers(self, method: ast.expr, scope: Scope, depth: int = 0) -> Iterator[ast.Call]:
        """The calls that made the parser whose method, or a group of which, this is."""
        if not isinstance(method, ast.Attribute) or depth > MAX_GROUPS:
            return
        for origin in self._program.origins(method.value, scope):
            if isinstance(origin, Result) and isinstance(origin.node, ast.Call):
                is_group = last_name(origin.node.func) in _GROUPS
                yield from self._parsers(origin.node.func, origin.scope, depth + 1) if is_group else [origin.node]


def _reads(function: Scope, name: str, option: str) -> bool:
    """Whether a function itself reads an option from what `name` holds."""
    reads = (n for n in ast.walk(function.node) if isinstance(n, ast.Attribute) and n.attr == option)
    return any(isinstance(n.value, ast.Name) and n.value.id == name for n in reads)


def _is_required(subparsers: ast.Call) -> bool:
    return any(k.arg == "required" and isinstance(k.value, ast.Constant) and k.value.value for k in subparsers.keywords)


def _seed_option(facts: ModuleFacts) -> _Option | None:
    """The option for the seed in a file: a number, or none by default."""
    options = {name: o.value for name, o in declared_options(facts).items() if _SEED_NAME.fullmatch(name)}
    name = "seed" if "seed" in options else next(iter(options), None)
    if name is None:
        return None
    value = options[name]
    if type(value) is int:
        return _Option(name, "negative" if value < 0 else None)
    return _Option(name, "None") if value is None and takes_integers(name, facts) else None


def _off(field: Binding) -> Literal["None"] | None:
    """Which value of a field is no seed, by its annotation: `seed: int | None = 1`."""
    annotation = getattr(field.node, "annotation", None)
    words = {last_name(n) for n in ast.walk(annotation)} if isinstance(annotation, ast.AST) else set()
    is_none = isinstance(annotation, ast.AST) and any(
        isinstance(n, ast.Constant) and n.value is None for n in ast.walk(annotation)
    )
    return "None" if is_none or "Optional" in words else None


def _entry(name: str, binding: Binding, owner: Scope) -> ast.Constant | None:
    """The key of the seed in a dict of settings that stays as it is."""
    if binding.kind != "assign" or not isinstance(binding.value, ast.Dict):
        return None
    keys = (
        key
        for key, value in zip(binding.value.keys, binding.value.values, strict=True)
        if isinstance(key, ast.Constant) and _SEED_NAME.fullmatch(str(key.value)) and is_seed(value)
    )
    key = next(keys, None)
    return key if key is not None and not _is_changed(name, str(key.value), owner.facts) else None


def _is_changed(name: str, key: str, facts: ModuleFacts) -> bool:
    """Whether a file may take an entry out of a dict, or put something else there."""
    called = (call.func for method in _CHANGING for call, _ in facts.calls.get(method, ()))
    deleted = (t for n in ast.walk(facts.tree) if isinstance(n, ast.Delete) for t in n.targets)
    held = [f.value for f in (*called, *deleted) if isinstance(f, ast.Attribute | ast.Subscript)]
    return key in facts.subscript_sets or any(isinstance(h, ast.Name) and h.id == name for h in held)


def numbered(seed: str, number: int) -> str:
    """A seed of its own for what is the `number`th of its kind: `3`, `args.seed + 3`."""
    if not number:
        return seed
    return str(int(seed) + number) if seed.isdecimal() else added(seed, str(number))


def added(seed: str, term: str) -> str:
    """The sum of a seed and a term."""
    return f"({seed}) + {term}" if " or " in seed or " if " in seed else f"{seed} + {term}"


def is_seed(value: ast.expr | None) -> bool:
    """Whether an expression is a number that every generator takes as its seed."""
    return isinstance(value, ast.Constant) and type(value.value) is int and 0 <= value.value < 2**32


def _unpacked(binding: Binding) -> ast.expr | None:
    """What a name is assigned, alone or as one of several that are written out: `args, x = self.args, self.x`."""
    value = binding.value if binding.kind in ("assign", "unpack") else None
    for index in binding.path:
        value = value.elts[index] if isinstance(value, ast.Tuple) and index < len(value.elts) else None
    return value


def _visible(scope: Scope, program: Program) -> Iterator[OwnSeed]:
    """The seeds that names of a scope and of those around it hold, innermost scope first, in a fixed order."""
    current: Scope | None = scope
    first = True
    while current is not None:
        if first or current.kind != "class":
            yield from _seeds_of(current, program)
        current, first = current.parent, False


def _seeds_in(file: Display) -> set[str]:
    """The entries of a configuration file that are seeds."""
    entries = written_entries(file.node, file.scope) if isinstance(file.node, ast.Dict) else ()
    return {key for key, site in entries if _SEED_NAME.fullmatch(key) and is_seed(site.node)}


def _entry_given(made: Result, program: Program) -> str | None:
    """What of the object that a call makes its function seeds with first: `["seed"]` of `config`."""
    given = _given_first(made.scope.function, program)
    held: ast.expr | None = ast.parse(given.text, mode="eval").body if given is not None else None
    while isinstance(held, ast.Attribute | ast.Subscript):
        held = held.value
    if given is None or not isinstance(held, ast.Name) or held.id == given.text:
        return None
    bound = made.scope.function.bindings.get(held.id, made.scope.facts.scope.bindings.get(held.id, ()))
    if len(bound) != 1 or bound[0].value is not made.node:
        return None
    nodes = ast.walk(made.scope.function.node)
    stored = (n for n in nodes if isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Store))
    return None if any(ast.unparse(n) == given.text for n in stored) else given.text.removeprefix(held.id)


class _Given(NamedTuple):
    """What a seeder is given, and the last line on which it or a statement in front of it begins."""

    text: str
    line: int


@remembered
def _given_first(function: Scope, program: Program) -> _Given | None:
    """What the first call of a seeder gives that stands for itself in a function, or in a module and its guard."""
    body = getattr(function.node, "body", None)
    if function.facts.guard is not None and function.kind == "module":
        body = [*function.node.body, *function.facts.guard.body]  # type: ignore[attr-defined]
    line = 0
    for statement in body if isinstance(body, list) else ():
        line = max(line, statement.lineno)
        match statement:
            case ast.Expr(value=ast.Call(args=[seed]) as call) if _is_repeatable(seed, function, program):
                if is_seeder(program.callee(call, function)):
                    return _Given(function.facts.text(seed), line)
    return None


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
    outer = owner.facts.parents.get(binding.node)
    while isinstance(outer, ast.With):
        outer = owner.facts.parents.get(outer)
    plain = isinstance(binding.node, ast.stmt) and outer is owner.node
    if owner.kind == "module" and scope.function is not owner:
        return plain and not _in_guard(owner.facts, binding.node)
    plain = plain or (owner.kind == "module" and _in_guard(owner.facts, binding.node))
    return plain and line < getattr(node, "lineno", 0)


def _is_repeatable(seed: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether a seed is a number, or made of names that hold one thing, attributes and entries."""
    match seed:
        case ast.Constant():
            return is_seed(seed)
        case ast.Name(id=name):
            bindings = scope.function.bindings.get(name, scope.facts.scope.bindings.get(name, ()))
            return len(bindings) == 1 or _stays(seed, bindings, scope, program)
        case ast.Attribute(value=value) | ast.Subscript(value=value, slice=ast.Constant()):
            return _is_repeatable(value, scope, program)
    return False


def _stays(name: ast.Name, bindings: Sequence[Binding], scope: Scope, program: Program) -> bool:
    """Whether a parameter that is bound anew is passed on each time: `opt = extended(opt, data)`."""
    others = bindings[1:]
    if not others or bindings[0].kind != "parameter" or not all(isinstance(b.value, ast.Call) for b in others):
        return False
    held = [o.node for o in program.origins(name, scope) if isinstance(o, Result)]
    given = [program.origins(b.value, scope) for b in others if b.value is not None]
    return bool(held) and all(made and all(getattr(o, "node", None) in held for o in made) for made in given)


def _in_guard(facts: ModuleFacts, node: ast.AST) -> bool:
    guard = facts.guard
    return guard is not None and facts.parents.get(node) is guard and is_in_body(node, guard)
