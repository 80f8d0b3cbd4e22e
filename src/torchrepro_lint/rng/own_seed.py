"""The program's own seed, as an expression that is valid at a given place; else the configured constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeGuard

from torchrepro_lint.dataflow.abstract_values import Display, Origin, Result, Unknown, is_configured
from torchrepro_lint.dataflow.binding import named_parameters
from torchrepro_lint.dataflow.enclosing import is_in_body
from torchrepro_lint.dataflow.grafts import written_entries
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import CallSite
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import Binding, ModuleFacts, Scope, last_name
from torchrepro_lint.index.parents import descendants
from torchrepro_lint.project.declarations import declarations, declared_options
from torchrepro_lint.project.names import Variable
from torchrepro_lint.rng.draws import is_seeder
from torchrepro_lint.rng.own_seeders import seeders_in
from torchrepro_lint.rng.seed_options import SEED_NAME, SeedOption, is_seed, is_seed_parameter, seed_field, seed_option

_CONFIG_NAMES = frozenset({"args", "opt", "opts", "cfg", "config", "conf", "hparams", "flags", "options", "params"})
_SETTINGS = re.compile(r"^(?:args|opts?)$|cfg|conf|const|param|setting|option", re.IGNORECASE)
_DECLARING = ("add_argument", "option")
_PARSING = ("parse_args", "parse_known_args")
_INTO_CLASSES = frozenset({"parse_args_into_dataclasses", "parse_args_and_config"})  # of transformers and trl
_OF_CLASS = ("cli", "parse", "structured")  # give an object of it: of tyro; simple_parsing, pyrallis; OmegaConf
_WRAPS: Mapping[str, Literal["items", "attributes", "same"]] = {
    "vars": "items", "dict": "items", "copy": "same", "deepcopy": "same",
    **dict.fromkeys(("AttrDict", "DotDict", "EasyDict", "Namespace", "SimpleNamespace", "edict"), "attributes"),
}  # fmt: skip
MAX_WRAPS = 3
_CHANGING = ("clear", "pop", "popitem", "update")  # methods of a dict
MAX_GROUPS = 4  # of options within one another
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})


class OwnSeed(NamedTuple):
    """A seed of the program's own: its `text`, and what binds the name that it begins with, in the scope `owner`.

    `is_parsed` says that the name holds the program's arguments, `until` on which line it is bound anew, if it is.
    `negative` is the name of an option that is off by default, as a negative number, which is `read` so.
    """

    text: str
    binding: Binding
    owner: Scope
    is_parsed: bool
    until: int | None = None
    negative: str | None = None
    read: str = ""


class _Parsed(NamedTuple):
    """What a value comes from, and of that the calls that parse arguments; with `is_items` they are in a dict."""

    made: Sequence[Origin] = ()
    calls: Sequence[CallSite] = ()
    is_items: bool = False


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
            if _bound_before(seed.binding, seed.owner, scope, node) and _is_still(seed, scope, node):
                return seed
        return None

    def parsed_above(self, scope: Scope, node: ast.AST) -> OwnSeed | None:
        """The same in arguments that are parsed above `node`, though their name is bound to something else by then."""
        seeds = (s for s in _visible(scope, self._program) if s.is_parsed and s.owner is scope.function)
        return next((s for s in seeds if _bound_before(s.binding, s.owner, scope, node)), None)

    def _given_above(self, scope: Scope, node: ast.AST) -> str | None:
        """What a call further up in the same function gives to a seeder, where it means the same at `node`."""
        given = _given_first(scope.function, self._program)
        if given is None:
            return None
        return given.text if given.is_constant or given.line < getattr(node, "lineno", 0) else None

    def _given_to_maker(self, scope: Scope) -> str | None:
        """The entry of a configuration with which the function that reads it seeds, where a parameter here holds the
        same one: `config["seed"]`."""
        function = scope.function
        for name in named_parameters(function):
            bound = function.bindings[name]
            if name not in _CONFIG_NAMES or len(bound) != 1:
                continue
            value = self._value(name, bound[0], function)
            made = self._program.origins(value, function) if value is not None else []
            if len(made) == 1 and isinstance(made[0], Result):
                entry = _entry_given(made[0], self._program)
                if entry is not None:
                    return name + entry
        return None

    def held(self, name: str, binding: Binding, owner: Scope) -> OwnSeed | None:
        """The seed that a name holds, wherever that is bound."""
        if SEED_NAME.fullmatch(name) and (
            self._is_number(name, binding, owner) or is_seed_parameter(name, binding, owner)
        ):
            return OwnSeed(name, binding, owner, is_parsed=False)
        key = _entry(name, binding, owner)
        if key is not None:
            return OwnSeed(f"{name}[{owner.facts.text(key)}]", binding, owner, is_parsed=False)
        parsed = self._option(name, binding, owner)
        if parsed is not None:
            return parsed
        field = self._field(binding, owner)
        if field is not None:
            return OwnSeed(field.read(name, self._default), binding, owner, is_parsed=True)
        entry = self._entry(name, binding, owner) if name in _CONFIG_NAMES else None
        entry = entry or self._setting(name, binding, owner)
        return OwnSeed(entry, binding, owner, is_parsed=False) if entry is not None else None

    def _setting(self, name: str, binding: Binding, owner: Scope) -> str | None:
        """The constant for the seed in a module or plain class of settings: `config.SEED`."""
        same = binding.value if binding.kind == "assign" and isinstance(binding.value, ast.Name) else None
        if not _SETTINGS.search(name) or (binding.kind not in ("import", "class") and same is None):
            return None
        held = self._program.resolve(same, owner) if same is not None else self._program.names.lookup(name, owner)
        if not isinstance(held, Scope) or held.kind not in ("module", "class"):
            return None
        node = held.node
        is_plain = not isinstance(node, ast.ClassDef) or not (node.bases or node.decorator_list)
        option = seed_field(held) if is_plain else None
        return f"{name}.{option.name}" if option is not None and option.off is None else None

    def _entry(self, name: str, binding: Binding, owner: Scope) -> str | None:
        """The entry for the seed of a configuration file that a name holds: of one that is named in the code, written
        as its others are read, or of one that Hydra passes."""
        found = set.intersection(*files) if (files := self._files(name, binding, owner)) else set()
        if found and binding.kind == "parameter":  # the user may choose another file for Hydra
            return f"{name}.get({_quoted(min(found), owner.facts)}, {self._default})"
        for node in descendants(owner.node) if found else ():
            match node:
                case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str())) if held == name:
                    return f"{name}[{_quoted(min(found), owner.facts)}]"
                case ast.Attribute(value=ast.Name(id=held)) if held == name:
                    if getattr(owner.facts.parents.get(node), "func", None) is not node:  # `config.items()` is a dict's
                        return f"{name}.{min(found)}"
        return None

    def _files(self, name: str, binding: Binding, owner: Scope) -> list[set[str]]:
        """The seeds in each of the configuration files that a name may hold."""
        value = self._value(name, binding, owner) if binding.kind == "assign" else None
        made: Sequence[Origin] = self._program.origins(value, owner) if value is not None else ()
        if binding.kind == "parameter" and isinstance(owner.node, ast.FunctionDef) and owner.node.decorator_list:
            read = next((n for n in ast.walk(owner.node) if isinstance(n, ast.Name) and n.id == name), None)
            defaults = self._program.defaults
            made = defaults.value(read, owner) if defaults is not None and read is not None else ()
        files = [_seeds_in(o) for o in made if isinstance(o, Display) and is_configured(o)]
        return files if len(files) == len(made) else []

    def _value(self, name: str, binding: Binding, owner: Scope) -> ast.expr | None:
        """What a name is bound to; a parameter, where it is read first, which is what every caller passes."""
        if binding.kind != "parameter":
            return _unpacked(binding)
        return next((n for n in ast.walk(owner.node) if isinstance(n, ast.Name) and n.id == name), None)

    def _is_number(self, name: str, binding: Binding, owner: Scope) -> bool:
        """Whether a name is bound to a number, here or in the module that it is imported from."""
        if binding.kind == "import":
            variable = self._program.names.lookup(name, owner)
            made = variable.bindings if isinstance(variable, Variable) else []
            return len(made) == 1 and is_seed(made[0].value)
        return is_seed(binding.value)

    def _field(self, binding: Binding, owner: Scope) -> SeedOption | None:
        """The field for the seed of a configuration: `cfg = Config()`, `args = tyro.cli(Args)`, `cfg: Config`."""
        given: set[str | None] = set()
        classes: list[ast.expr | None] = []
        value, place = _taken_from(binding)
        if binding.kind == "parameter" and binding.value is None:
            classes = [getattr(binding.node, "annotation", None)]
        elif isinstance(value, ast.Call) and last_name(value.func) in _INTO_CLASSES:
            return self._field_of_parsed(value, place or 0, owner)
        elif binding.kind == "assign" and isinstance(value, ast.Call) and place is None:
            classes = [value.func]
            if last_name(value.func) in _OF_CLASS:
                classes = [*value.args[:1], *(k.value for k in value.keywords if k.arg == "config_class")]
            if isinstance(value.func, ast.Attribute) and isinstance(made := value.func.value, ast.Call):
                classes = [made.func] if value.func.attr in _PARSING else []  # `Args().parse_args()`
            given = {k.arg for k in value.keywords}
        for node in classes:
            option = self._field_of(node, owner)
            if option is not None:
                return option if option.name not in given else None
        return None

    def _field_of(self, node: ast.expr | None, scope: Scope) -> SeedOption | None:
        held = self._program.resolve(node, scope) if isinstance(node, ast.Name | ast.Attribute) else None
        return seed_field(held) if isinstance(held, Scope) and held.kind == "class" else None

    def _field_of_parsed(self, parsing: ast.Call, place: int, scope: Scope) -> SeedOption | None:
        """The same, of the objects that a parser of `transformers` gives, in the order of its classes."""
        parsers = [p for p in self._parsers(parsing.func, scope) if p.args]
        classes = parsers[0].args[0] if len(parsers) == 1 else None
        listed = classes.elts if isinstance(classes, ast.Tuple | ast.List) else [classes]
        return self._field_of(listed[place], scope) if place < len(listed) else None

    # -- options that are parsed --------------------------------------------------------------------------------
    def _option(self, name: str, binding: Binding, owner: Scope) -> OwnSeed | None:
        """The option for the seed that a name holds with others, or has as items."""
        if binding.kind == "parameter" and name not in _CONFIG_NAMES:
            return None
        value = self._value(name, binding, owner)
        is_call = binding.kind != "parameter" and isinstance(value, ast.Call)
        if not is_call and (name not in _CONFIG_NAMES or not isinstance(value, ast.Name | ast.Attribute)):
            return None
        parsed = self._parsed(value, owner) if value is not None else _Parsed()
        is_sure = bool(parsed.calls) and (is_call or len(parsed.calls) == len(parsed.made))
        if binding.kind == "parameter":
            if binding.value is not None:
                return None
        elif not is_sure:
            return None
        home = parsed.calls[0][1].facts if parsed.calls else owner.facts
        declaring = self._declaring(home)
        found = {seed_option(facts) for facts in declaring} - {None}
        option = found.pop() if len(found) == 1 else None
        if option is None:
            return None
        text = f"{name}[{_quoted(option.name, owner.facts)}]" if parsed.is_items else f"{name}.{option.name}"
        is_read = binding.kind == "parameter" and _reads(owner, name, option.name, self._program)
        if not is_read and not (is_sure and self._is_of_each_command(option.name, parsed.calls, {home, *declaring})):
            return None
        negative = option.name if option.off == "negative" else None
        return OwnSeed(option.of(text, self._default), binding, owner, is_parsed=True, negative=negative, read=text)

    def _parsed(self, value: ast.expr, scope: Scope, depth: int = 0) -> _Parsed:
        """The arguments that a value holds: as they were parsed, or as a dict or another object of what they are."""
        made = self._program.origins(value, scope)
        match made:
            case [Result(node=ast.Call() as call, scope=where)] if depth < MAX_WRAPS and last_name(call.func) in _WRAPS:
                given = [*call.args, *(k.value for k in call.keywords if k.arg is None)]
                inner = self._parsed(given[0], where, depth + 1) if len(given) == 1 else _Parsed()
                wrap = _WRAPS[last_name(call.func)]
                return inner._replace(is_items=wrap == "items") if wrap != "attributes" or inner.is_items else _Parsed()
        return _Parsed(made, [(o.node, o.scope) for o in made if _is_parsed(o)])

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

    def _is_of_each_command(self, option: str, parsing: Sequence[CallSite], files: Collection[ModuleFacts]) -> bool:
        """Whether options have this one whichever command is given: it is declared for the parser itself, or for each
        of the commands, of which one must be given."""
        commands = {call for facts in files for call, _ in facts.calls.get("add_parser", ())}
        if not commands:
            return True
        asked = {parser for call, scope in parsing for parser in self._parsers(call.func, scope)}
        sites = [site for facts in files for site in declarations(option, facts)]
        declared = {parser for call, scope in sites for parser in self._parsers(call.func, scope)}
        groups = [call for facts in files for call, _ in facts.calls.get("add_subparsers", ())]
        return not asked.isdisjoint(declared) or (all(map(_is_required, groups)) and commands <= declared)

    def _parsers(self, method: ast.expr, scope: Scope, depth: int = 0) -> Iterator[ast.Call]:
        """The calls that made the parser whose method, or a group of which, this is."""
        if not isinstance(method, ast.Attribute) or depth > MAX_GROUPS:
            return
        for origin in self._program.origins(method.value, scope):
            if isinstance(origin, Result) and isinstance(origin.node, ast.Call):
                is_group = last_name(origin.node.func) in _GROUPS
                yield from self._parsers(origin.node.func, origin.scope, depth + 1) if is_group else [origin.node]


def _reads(function: Scope, name: str, option: str, program: Program) -> bool:
    """Whether a function itself reads an option from what `name` holds, or passes that to one that does:
    `set_seed(args)`."""
    nodes = list(ast.walk(function.node))
    if _is_read_from(nodes, name, option):
        return True
    for call in (n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)):
        place = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == name), None)
        called = program.resolve(call.func, function) if place is not None else None
        node = called.node if isinstance(called, Scope) else None
        taken = node.args.args if isinstance(node, ast.FunctionDef) and place is not None else []
        if node is not None and any(_is_read_from(ast.walk(node), a.arg, option) for a in taken[place:][:1]):
            return True
    return False


def _is_read_from(nodes: Iterable[ast.AST], name: str, option: str) -> bool:
    reads = (n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr == option)
    return any(isinstance(holder, ast.Name) and holder.id == name for holder in reads)


def _is_required(subparsers: ast.Call) -> bool:
    return any(k.arg == "required" and isinstance(k.value, ast.Constant) and k.value.value for k in subparsers.keywords)


def _entry(name: str, binding: Binding, owner: Scope) -> ast.Constant | None:
    """The key of the seed in a dict of settings that stays as it is."""
    if binding.kind != "assign" or not isinstance(binding.value, ast.Dict):
        return None
    keys = (
        key
        for key, value in zip(binding.value.keys, binding.value.values, strict=True)
        if isinstance(key, ast.Constant) and SEED_NAME.fullmatch(str(key.value)) and is_seed(value)
    )
    key = next(keys, None)
    if key is None or str(key.value) in declared_options(owner.facts):  # a table of defaults, which users override
        return None
    return key if not _is_changed(name, str(key.value), owner.facts) else None


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


def _unpacked(binding: Binding) -> ast.expr | None:
    """What a name is assigned, alone or as one of several that are written out: `args, x = self.args, self.x`; the call
    that parses arguments, of which it also gives the rest: `args, rest = parser.parse_known_args()`."""
    value, place = _taken_from(binding)
    if place is None or (place == 0 and isinstance(value, ast.Call) and last_name(value.func) in _PARSING):
        return value
    return value.elts[place] if isinstance(value, ast.Tuple) and place < len(value.elts) else None


def _taken_from(binding: Binding) -> tuple[ast.expr | None, int | None]:
    """What is assigned, and which of its items a name gets; None for the whole."""
    value = binding.value if binding.kind in ("assign", "unpack") else None
    match value, binding.path:
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int() as place)), ():
            return call, place
        case _, (int() as place,):
            return value, place
    return (value, None) if not binding.path else (None, None)


def _is_parsed(origin: Origin) -> TypeGuard[Result]:
    """Whether a value is what `parse_args()` gives, or the first of what `parse_known_args()` does."""
    match origin:
        case Result(node=ast.Call(func=ast.Attribute(attr=name))):
            return name in _PARSING
        case Unknown(node=ast.Call(func=ast.Attribute(attr=name)), scope=Scope()):
            return name in _PARSING
    return False


def _quoted(key: str, facts: ModuleFacts) -> str:
    """A key, in the quotes that the file mostly has."""
    text = facts.source.text
    return f"'{key}'" if text.count("'") > text.count('"') else f'"{key}"'


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
    return {key for key, site in entries if SEED_NAME.fullmatch(key) and is_seed(site.node)}


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
    """What a seeder is given, and the last line on which it or a statement in front of it begins. `is_constant` says
    that it is a constant of the module, which a function has from its beginning."""

    text: str
    line: int
    is_constant: bool


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
                if is_seeder(program.callee(call, function)) or _is_own_seeder(call, function, program):
                    return _Given(function.facts.text(seed), line, _is_of_module(seed, function))
    return None


def _is_own_seeder(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether a call runs a function of the project that seeds and does nothing else."""
    called = program.resolve(call.func, scope)
    if not isinstance(called, Scope) or called.kind != "function":
        return False
    return any(seeder.function is called for seeder in seeders_in(called.facts, program))


def _is_of_module(seed: ast.expr, function: Scope) -> bool:
    is_name = isinstance(seed, ast.Name) and function.kind == "function"
    return is_name and function.binding_scope(seed.id) is function.facts.scope  # type: ignore[attr-defined]


@remembered
def _seeds_of(owner: Scope, program: Program) -> list[OwnSeed]:
    """Those that names of one scope hold, each bound once, or to arguments that are changed step by step."""
    found: list[OwnSeed] = []
    for name, made in owner.bindings.items():
        steps = made if len(made) == 1 or _in_turn(name, made, owner) else []
        ends = [*(getattr(b.node, "lineno", 0) for b in steps[1:]), None]
        for binding, until in zip(steps, ends[: len(steps)], strict=True):
            seed = Seeds(program).held(name, binding, owner)
            found += [seed._replace(until=until)] if seed is not None else []
    return found


def _in_turn(name: str, made: Sequence[Binding], owner: Scope) -> bool:
    """Whether the statements that bind a name of arguments follow one another: `args = prepare(args)`."""
    nodes = [b.node for b in made if b.kind in ("assign", "unpack") and isinstance(b.node, ast.stmt)]
    around = {owner.facts.parents.get(node) for node in nodes}
    if name not in _CONFIG_NAMES or len(nodes) < len(made) or len(around) != 1:
        return False
    return isinstance(body := getattr(around.pop(), "body", None), list) and all(n in body for n in nodes)


def _is_still(seed: OwnSeed, scope: Scope, node: ast.AST) -> bool:
    """Whether the name of a seed holds at `node` what it was bound to."""
    return seed.until is None or (scope.function is seed.owner and getattr(node, "lineno", 0) <= seed.until)


def _bound_before(binding: Binding, owner: Scope, scope: Scope, node: ast.AST) -> bool:
    """Whether the binding has run when `node` runs: it stands above it, unconditionally, in its own scope, or in the
    same function, which binds a global name."""
    if binding.kind == "parameter":
        return True
    line = getattr(binding.node, "end_lineno", 0)
    outer = owner.facts.parents.get(binding.node)
    while isinstance(outer, ast.With):
        outer = owner.facts.parents.get(outer)
    plain = isinstance(binding.node, ast.stmt) and outer is owner.node
    if owner.kind == "module" and scope.function is not owner:
        if outer is scope.function.node:
            return isinstance(binding.node, ast.stmt) and line < getattr(node, "lineno", 0)
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
