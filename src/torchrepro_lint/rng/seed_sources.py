"""The sources of a program's own seed: what a name holds that is the seed, or settings with the seed among them.

`SOURCES` lists them in their order of preference. Each looks at one name, and says how the seed is read from it.
Which names are in scope at a place, and which of them are bound there, is not asked here.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias, TypeGuard

from torchrepro_lint.dataflow import CallSite, Program, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Display, Origin, Result, Unknown, is_configured
from torchrepro_lint.dataflow.evaluate import Values
from torchrepro_lint.dataflow.grafts import written_entries
from torchrepro_lint.index import Binding, FunctionNode, ModuleFacts, Scope, calls_in, descendants, last_name, walk
from torchrepro_lint.project.declarations import declarations, declared_options
from torchrepro_lint.project.names import Variable
from torchrepro_lint.rng.seed_options import SEED_NAME, SeedOption, is_seed, is_seed_parameter, seed_field, seed_option

_SETTINGS = re.compile(r"^(?:args|opts?|flags)$|cfg|conf|const|param|setting|option", re.IGNORECASE)
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


class Name(NamedTuple):
    """A name, and what binds it in the scope `owner`."""

    text: str
    binding: Binding
    owner: Scope
    program: Program

    @property
    def is_parameter(self) -> bool:
        return self.binding.kind == "parameter"

    @property
    def is_of_settings(self) -> bool:
        """Whether the name says that it holds options or other settings."""
        return _SETTINGS.search(self.text) is not None

    def at_home(self) -> Name:
        """The same in the file that binds it, once, where this one imports it and it holds settings."""
        if self.binding.kind != "import" or not self.is_of_settings:
            return self
        made = self.program.names.lookup(self.text, self.owner)
        if not isinstance(made, Variable) or made.scope.kind != "module" or len(made.bindings) != 1:
            return self
        return Name(made.name, made.bindings[0], made.scope, self.program)

    def value(self) -> ast.expr | None:
        """What is assigned, also as one of several that are written out: `args, x = self.args, self.x`; the call that
        parses arguments, of which it also gives the rest; a parameter, where it is read first, which is what every
        caller passes."""
        if self.is_parameter:
            return next(iter(self.owner.facts.reads(self.owner.node).of_name(self.text)), None)
        value, place = self.assigned()
        if place is None or (place == 0 and isinstance(value, ast.Call) and last_name(value.func) in _PARSING):
            return value
        return value.elts[place] if isinstance(value, ast.Tuple) and place < len(value.elts) else None

    def assigned(self) -> tuple[ast.expr | None, int | None]:
        """What is assigned, and which of its items the name gets; None for the whole."""
        value = self.binding.value if self.binding.kind in ("assign", "unpack") else None
        match value, self.binding.path:
            case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int() as place)), ():
                return call, place
            case _, (int() as place,):
                return value, place
        return (value, None) if not self.binding.path else (None, None)


class OwnSeed(NamedTuple):
    """A seed of the program's own, which is `read` so: `seed`, `args.seed`; `option` says which values are none.

    `is_parsed` says that the name holds the program's arguments.
    """

    read: str
    name: Name
    option: SeedOption = SeedOption("")
    is_parsed: bool = False

    @property
    def text(self) -> str:
        """The seed as an expression, which is a number whatever the user chooses."""
        return self.option.of(self.read, str(self.name.program.project.seed))


def _number(name: Name) -> OwnSeed | None:
    """`SEED = 1`, also where it is imported; a parameter that a command line fills in."""
    made = name.binding
    if not SEED_NAME.fullmatch(name.text):
        return None
    if made.kind == "import":
        variable = name.program.names.lookup(name.text, name.owner)
        made = variable.bindings[0] if isinstance(variable, Variable) and len(variable.bindings) == 1 else made
    is_number = is_seed(made.value) or is_seed_parameter(name.text, made, name.owner)
    return OwnSeed(name.text, name) if is_number else None


# -- settings that are written in the code --------------------------------------------------------------------------
def _field(name: Name) -> OwnSeed | None:
    """The field of an object of settings: `cfg = Config()`, also where it is imported, `args = tyro.cli(Args)`, a
    parameter `cfg: Config`."""
    made = name.at_home()
    for node in _classes(made):
        held = made.program.resolve(node, made.owner) if isinstance(node, ast.Name | ast.Attribute) else None
        option = seed_field(held) if isinstance(held, Scope) and held.kind == "class" else None
        if option is not None:
            given = made.binding.value.keywords if isinstance(made.binding.value, ast.Call) else ()
            is_given = any(k.arg == option.name for k in given)
            return OwnSeed(f"{name.text}.{option.name}", name, option, is_parsed=True) if not is_given else None
    return None


def _classes(name: Name) -> Sequence[ast.expr | None]:
    """Which classes the object that a name holds may be of."""
    match name.assigned():
        case None, _:
            is_free = name.is_parameter and name.binding.value is None
            return [getattr(name.binding.node, "annotation", None)] if is_free else []
        case ast.Call(func=function) as call, place if last_name(function) in _INTO_CLASSES:
            parsers = [p for p in _parsers(function, name.owner, name.program) if p.args]
            classes = parsers[0].args[0] if len(parsers) == 1 else None
            return (classes.elts if isinstance(classes, ast.Tuple | ast.List) else [classes])[place or 0 :][:1]
        case ast.Call(func=ast.Attribute(value=ast.Call(func=made), attr=method)), None:
            return [made] if method in _PARSING else []  # `Args().parse_args()`
        case ast.Call(func=function) as call, None:
            named = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "config_class")]
            return named if last_name(function) in _OF_CLASS else [function]
    return []


def _setting(name: Name) -> OwnSeed | None:
    """The constant of a module or plain class of settings: `config.SEED`."""
    binding, program = name.binding, name.program
    same = binding.value if binding.kind == "assign" and isinstance(binding.value, ast.Name) else None
    if not name.is_of_settings or (binding.kind not in ("import", "class") and same is None):
        return None
    held = program.resolve(same, name.owner) if same is not None else program.names.lookup(name.text, name.owner)
    if not isinstance(held, Scope) or held.kind not in ("module", "class"):
        return None
    is_plain = not isinstance(held.node, ast.ClassDef) or not (held.node.bases or held.node.decorator_list)
    option = seed_field(held) if is_plain else None
    return OwnSeed(f"{name.text}.{option.name}", name) if option is not None and option.off is None else None


# -- mappings, of the code and of configuration files ---------------------------------------------------------------
def _entry(name: Name) -> OwnSeed | None:
    """`SETTINGS = {"seed": 1}`, which stays as it is, also where it is imported; the entry of a configuration file that
    is named in the code, read as its others are; of one that Hydra passes or an option names, for which the user may
    choose another."""
    facts, made = name.owner.facts, name.at_home()
    is_written = isinstance(made.binding.value, ast.Dict)
    if not (is_written or name.is_of_settings):
        return None
    held = _mappings(made)
    usual = held or _mappings(made, name.program.defaults)
    entry = min(set.intersection(*(_seeds_in(o) for o in usual)), default=None) if usual else None
    if entry is None:
        return None
    key, is_item = _quoted(entry, facts), _is_read_by_item(name)
    if is_written:  # a table of defaults is overridden by users
        holders = {facts: name.text, made.owner.facts: made.text}
        is_fixed = not any(entry in declared_options(f) or _is_changed(text, entry, f) for f, text in holders.items())
        return OwnSeed(f"{name.text}[{key}]", name) if is_fixed else None
    if not held:
        is_known = is_item or name.is_parameter
        return OwnSeed(f"{name.text}.get({key})", name, SeedOption(entry, "None")) if is_known else None
    is_bound_again = not name.is_parameter and len(name.owner.bindings[name.text]) > 1  # `config = AttrDict(config)`
    read = f"[{key}]" if is_item else f".{entry}"
    return OwnSeed(name.text + read, name) if is_item is not None and not is_bound_again else None


def _is_read_by_item(name: Name) -> bool | None:
    """Whether entries of a mapping are read as `config["rate"]` here, and not as `config.rate`; None for neither."""
    for node in descendants(name.owner.node):
        match node:
            case ast.Subscript(value=ast.Name(id=held), slice=ast.Constant(value=str())) if held == name.text:
                return True
            case ast.Attribute(value=ast.Name(id=held)) if held == name.text:
                is_method = getattr(name.owner.facts.parents.get(node), "func", None) is node  # `config.items()`
                if not is_method:
                    return False
    return None


def _mappings(name: Name, values: Values | None = None) -> list[Display]:
    """The mappings that a name holds; with the `values` by default, also of a file that Hydra or an option names."""
    value, function = name.value(), name.owner.node
    is_passed = isinstance(function, FunctionNode) and bool(function.decorator_list) and values is not None
    if value is None or not (name.binding.kind == "assign" or (name.is_parameter and is_passed)):
        return []
    made = (values or name.program.values).value(value, name.owner)
    known = [o for o in made if _is_mapping(o, name)]
    return known if len(known) == len(made) else []


def _seeds_in(mapping: Display) -> set[str]:
    entries = written_entries(mapping.node, mapping.scope)
    return {key for key, site in entries if is_seed(site.node) and SEED_NAME.fullmatch(key)}


def _is_mapping(origin: Origin, name: Name) -> TypeGuard[Display]:
    is_known = is_configured(origin) or getattr(origin, "node", None) is name.binding.value
    return is_known and isinstance(origin, Display) and isinstance(origin.node, ast.Dict)


def _is_changed(name: str, key: str, facts: ModuleFacts) -> bool:
    """Whether a file may take an entry out of a dict, or put something else there."""
    called = (call.func for method in _CHANGING for call, _ in facts.calls.get(method, ()))
    deleted = (t for n in walk(facts.tree) if isinstance(n, ast.Delete) for t in n.targets)
    held = [f.value for f in (*called, *deleted) if isinstance(f, ast.Attribute | ast.Subscript)]
    return key in facts.subscript_sets or any(isinstance(h, ast.Name) and h.id == name for h in held)


def _quoted(key: str, facts: ModuleFacts) -> str:
    """A key, in the quotes that the file mostly has."""
    text = facts.source.text
    return f"'{key}'" if text.count("'") > text.count('"') else f'"{key}"'


# -- options that are parsed ----------------------------------------------------------------------------------------
def _option(name: Name) -> OwnSeed | None:
    """The option of arguments that are parsed, also as a dict or another object, or under a name for options."""
    value, program = name.value(), name.program
    is_call = not name.is_parameter and isinstance(value, ast.Call) and _are_parsed(program)
    if value is None or not (is_call or (name.is_of_settings and isinstance(value, ast.Name | ast.Attribute))):
        return None
    calls, is_items = _parsed(value, name.owner, program)
    if name.binding.value is not None if name.is_parameter else not calls:
        return None
    home = calls[0][1].facts if calls else name.owner.facts
    declaring = _declaring(home, program)
    options = {_declared(facts) for facts in declaring} - {None}
    option = options.pop() if len(options) == 1 else None
    if option is None:
        return None
    is_read = name.is_parameter and _reads(name, option.name)
    if not is_read and not (calls and _is_of_each_command(option.name, calls, {home, *declaring}, program)):
        return None
    read = f"[{_quoted(option.name, name.owner.facts)}]" if is_items else f".{option.name}"
    return OwnSeed(name.text + read, name, option, is_parsed=True)


@remembered
def _are_parsed(program: Program) -> bool:
    """Whether any file parses options, so that a call may give them."""
    return any(program.project.text.mentioning(word) != [] for word in _PARSING)


@remembered_in_file
def _declared(facts: ModuleFacts) -> SeedOption | None:
    return seed_option(facts)


def _parsed(value: ast.expr, scope: Scope, program: Program, depth: int = 0) -> tuple[list[CallSite], bool]:
    """The calls that parse the arguments which a value holds, and whether it has them as the items of a dict."""
    made = program.origins(value, scope)
    match made:
        case [Result(node=ast.Call(func=wrapping) as call, scope=where)] if last_name(wrapping) in _WRAPS:
            given = [*call.args, *(k.value for k in call.keywords if k.arg is None)]
            is_one = len(given) == 1 and depth < MAX_WRAPS
            inner, is_items = _parsed(given[0], where, program, depth + 1) if is_one else ([], False)
            wrap = _WRAPS[last_name(wrapping)]
            return inner if wrap != "attributes" or is_items else [], wrap == "items"
    calls = [(o.node, o.scope) for o in made if isinstance(o, Result | Unknown) and o.scope and _parses(o.node)]
    return calls if len(calls) == len(made) else [], False


def _parses(node: ast.AST | None) -> TypeGuard[ast.Call]:
    """Whether this is a call of `parse_args()`, or of `parse_known_args()`, of which a name gets the first item."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PARSING


def _declaring(facts: ModuleFacts, program: Program) -> list[ModuleFacts]:
    """The files that may declare the options that this file parses: itself, or where it declares none at all, those
    that it imports."""
    if declared_options(facts) or any(facts.calls.get(spelled) for spelled in _DECLARING):
        return [facts]
    text, reachable = program.project.text, program.project.reachable(facts.source.path)
    naming = {p for sign in ("seed", "Seed") for p in text.containing(sign) or ()} & set(reachable)
    return list(program.loaded(sorted(naming)))


def _is_of_each_command(
    option: str, parsing: Sequence[CallSite], files: Collection[ModuleFacts], program: Program
) -> bool:
    """Whether options have this one whichever command is given: it is declared for the parser itself, or for each
    of the commands, of which one must be given."""
    commands = {call for facts in files for call, _ in facts.calls.get("add_parser", ())}
    if not commands:
        return True
    sites = [site for facts in files for site in declarations(option, facts)]
    asked, declared = (
        {parser for call, scope in calls for parser in _parsers(call.func, scope, program)}
        for calls in (parsing, sites)
    )
    groups = [call for facts in files for call, _ in facts.calls.get("add_subparsers", ())]
    return not asked.isdisjoint(declared) or (all(map(_is_required, groups)) and commands <= declared)


def _parsers(method: ast.expr, scope: Scope, program: Program, depth: int = 0) -> Iterator[ast.Call]:
    """The calls that made the parser whose method, or a group of which, this is."""
    if not isinstance(method, ast.Attribute) or depth > MAX_GROUPS:
        return
    for origin in program.origins(method.value, scope):
        if isinstance(origin, Result):
            is_group = last_name(origin.node.func) in _GROUPS
            yield from _parsers(origin.node.func, origin.scope, program, depth + 1) if is_group else [origin.node]


def _is_required(subparsers: ast.Call) -> bool:
    return any(k.arg == "required" and isinstance(k.value, ast.Constant) and k.value.value for k in subparsers.keywords)


def _reads(name: Name, option: str) -> bool:
    """Whether a function itself reads an option of its parameter, or passes that to one that does: `set_seed(args)`."""
    if _is_read(name.owner, name.text, option):
        return True
    for call in (call for call in calls_in(name.owner.node) if isinstance(call.func, ast.Name)):
        place = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == name.text), None)
        called = name.program.resolve(call.func, name.owner) if place is not None else None
        taken = called.node.args.args if isinstance(called, Scope) and isinstance(called.node, ast.FunctionDef) else []
        if isinstance(called, Scope) and any(_is_read(called, a.arg, option) for a in taken[place:][:1]):
            return True
    return False


def _is_read(function: Scope, name: str, option: str) -> bool:
    holders = (read.value for read in function.facts.reads(function.node).of_attribute(option))
    return any(isinstance(holder, ast.Name) and holder.id == name for holder in holders)


Source: TypeAlias = "Callable[[Name], OwnSeed | None]"
SOURCES: Sequence[Source] = (_number, _option, _field, _entry, _setting)
