"""What a file says of options: those that it declares, and the constants that it sets attributes and fields to.

Options come from argparse and click declarations, settings from dataclass fields and assignments such as
`cfg.seed = 1`. Knows one file; `options` asks all of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from torchrepro_lint.index import AttributeSet, ModuleFacts, Scope, SubscriptSet, last_name, walk
from torchrepro_lint.project.unknown import UNKNOWN, Opaque

_COMMAND_LINE = re.compile(r"(?:fire\.)?Fire|(?:typer|clize|defopt)\.run|tyro\.cli|(?:jsonargparse\.)?(?:CLI|auto_cli)")
_DESCRIBES = {"Argument", "Option", "Field", "field"}  # of typer; dataclasses, attrs, pydantic, simple_parsing
_COMMANDS = {"command", "callback", "default"}  # decorate a function of typer or cyclopts
_OF_OPTIONS = re.compile(r"namespace|pars|option|opts|arg|conf|cfg|tap$|setting|param", re.IGNORECASE)


class Default(NamedTuple):
    """A value; `settable` when the user can choose another on the command line or in a configuration."""

    value: object
    settable: bool


class _Options(NamedTuple):
    """Those of a file, by name: their defaults, and the calls that declare them."""

    defaults: dict[str, Default]
    calls: dict[str, list[tuple[ast.Call, Scope]]]


def declared_options(facts: ModuleFacts) -> Mapping[str, Default]:
    """Option name -> default, for every `add_argument`, `click.option` and `add` of configargparse in a file, also in a
    loop over a table that is written out."""
    return _options(facts).defaults


def option_names(facts: ModuleFacts) -> Iterator[str]:
    """The options that a file declares, also those whose default is worked out when the program runs."""
    return chain(_options(facts).defaults, _options(facts).calls)


def names_options_at_run_time(facts: ModuleFacts) -> bool:
    """Whether a file declares options by names that it makes up as it goes: `parser.add_argument(f"--{key}")`."""
    calls = facts.calls.get("add_argument", ())
    return any(call.args and not isinstance(call.args[0], ast.Constant | ast.Starred) for call, _ in calls)


def declarations(name: str, facts: ModuleFacts) -> Sequence[tuple[ast.Call, Scope]]:
    """The calls in a file that declare an option."""
    return _options(facts).calls.get(name, ())


def _options(facts: ModuleFacts) -> _Options:
    if facts.declared is None:
        facts.declared = _find_options(facts)
    known: _Options = facts.declared
    return known


def _find_options(facts: ModuleFacts) -> _Options:
    found = _Options({}, {})
    for spelled in ("add_argument", "option", "add"):
        for call, scope in facts.calls.get(spelled, ()):
            flags = flags_of(call)
            if spelled == "add" and not any(flag.startswith("-") for flag in flags):
                continue
            keywords = {k.arg: k.value for k in call.keywords}
            name = _destination(flags, keywords.get("dest"))
            if name is not None or flags:  # what is given by its place alone, `add_argument("mode")`, has no default
                found.calls.setdefault(name or flags[0], []).append((call, scope))
            if not flags and spelled == "add_argument":
                found.defaults.update(_declared_in_loop(call, scope))
                continue
            default = _declared_default(keywords)
            if name and default is not UNKNOWN:
                found.defaults[name] = Default(default, settable=True)
    for spelled in ("Fire", "run", "cli", "CLI", "auto_cli"):
        for call, scope in facts.calls.get(spelled, ()):
            if call.args and _COMMAND_LINE.fullmatch(ast.unparse(call.func)):
                for binding in scope.bindings_of(call.args[0]):
                    found.defaults.update(_parameters(binding.node) if binding.kind == "function" else ())
    for function in facts.scope.children.values():
        if any(isinstance(d, ast.Attribute) and d.attr in _COMMANDS for d in function.decorators):
            found.defaults.update(_parameters(function.node))
    return found


def _parameters(function: ast.AST) -> Iterator[tuple[str, Default]]:
    """The parameters of a function that a command line fills in: `fire.Fire(main)`, `@app.command()`."""
    given = getattr(function, "args", None)
    if isinstance(given, ast.arguments):
        places = [*given.posonlyargs, *given.args]
        pairs = [*zip(places[len(places) - len(given.defaults) :], given.defaults, strict=True)]
        for argument, value in (*pairs, *zip(given.kwonlyargs, given.kw_defaults, strict=True)):
            default = constant(described(value)) if value is not None else UNKNOWN
            if default is not UNKNOWN:
                yield argument.arg, Default(default, settable=True)


def described(value: ast.expr) -> ast.expr:
    """The default of a parameter or field that may be described: `typer.Option(1, help="the seed")`,
    `field(default=1)`."""
    match value:
        case ast.Call(func=function, args=args, keywords=keywords) if last_name(function) in _DESCRIBES:
            default = next((k.value for k in keywords if k.arg == "default"), args[0] if args else value)
            return value if isinstance(default, ast.Constant) and default.value is ... else default  # it is required
    return value


def is_section(holder: ast.expr) -> bool:
    """Whether what something is read of is a part of a configuration, `config.sampling`, `cfg["data"]`, and by its name
    no collection of options as `self.args` is."""
    match holder:
        case ast.Attribute(attr=str(name)) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return _OF_OPTIONS.search(name) is None
    return False


def takes_integers(name: str, facts: ModuleFacts) -> list[ast.Call]:
    """The declarations of an option that say `type=int`."""
    return [
        call
        for call, _ in declarations(name, facts)
        if any(k.arg == "type" and isinstance(k.value, ast.Name) and k.value.id == "int" for k in call.keywords)
    ]


def gives_text(name: str, facts: ModuleFacts) -> bool:
    """Whether what a user gives an option stays a text: nothing makes an integer of it, and the default is no telling
    as it is for click."""
    calls = [call for call, _ in declarations(name, facts)]
    in_loops = [call for call, _ in facts.calls.get("add_argument", ()) if not flags_of(call)]
    typed = [next((k.value for k in call.keywords if k.arg in ("type", None)), None) for call in calls or in_loops]
    is_integer = [t is not None and (not calls or "int" in ast.unparse(t)) for t in typed]
    return "add_argument" in facts.calls and not all(is_integer)


def attribute_of(flag: str) -> str:
    """The name under which a flag is kept: `learning_rate` for `--learning-rate`, `cache` for `--cache/--no-cache`."""
    return flag.lstrip("-").partition("/")[0].replace("-", "_")


def flags_of(call: ast.Call) -> list[str]:
    """The flags that a call declares, as they are written."""
    return [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]


# -- in a loop ------------------------------------------------------------------------------------------------------
def _declared_in_loop(call: ast.Call, scope: Scope) -> dict[str, Default]:
    """Those that a loop over a table declares: `for name, value in TABLE.items(): add_argument("--" + name, ...)`."""
    found: dict[str, Default] = {}
    flag = next((n for n in walk(call.args[0]) if isinstance(n, ast.Name)), None) if len(call.args) == 1 else None
    if flag is None:
        return {}
    for row in _rows(flag.id, scope):
        keywords = _keywords_of(call, row)
        name, default = _in_row(flag, row), _declared_default(keywords)
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and default is not UNKNOWN:
            found[attribute_of(name.value)] = Default(default, settable=True)
    return found


def _keywords_of(call: ast.Call, row: dict[str, ast.expr]) -> dict[str | None, ast.expr]:
    """The keywords of a call, with what a row of the table gives for them; also `**row`."""
    found: dict[str | None, ast.expr] = {}
    for keyword in call.keywords:
        value = _in_row(keyword.value, row)
        if keyword.arg is not None:
            found[keyword.arg] = value
        else:
            found |= {str(key.value): item for key, item in _items(value) if isinstance(key, ast.Constant)}
    return found


def _in_row(value: ast.expr, row: dict[str, ast.expr]) -> ast.expr:
    return row.get(value.id, value) if isinstance(value, ast.Name) else value


def _rows(name: str, scope: Scope) -> list[dict[str, ast.expr]]:
    """What the variables of the loop that binds `name` hold, in each of its rounds; nothing where that is not written
    out in the file."""
    made = scope.bindings.get(name, ())
    loop = made[0].node if len(made) == 1 and made[0].kind == "loop" else None
    if not isinstance(loop, ast.For):
        return []
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    rounds = _rounds(loop.iter, scope)
    if not all(isinstance(t, ast.Name) for t in targets) or any(len(r) != len(targets) for r in rounds):
        return []
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    return [dict(zip(names, values, strict=True)) for values in rounds]


def _rounds(iterated: ast.expr, scope: Scope) -> list[Sequence[ast.expr]]:
    """The values that a loop takes apart: the items of a dict, the tuples of a list."""
    match iterated:
        case ast.Call(func=ast.Attribute(value=table, attr="items"), args=[]):
            return [[key, value] for key, value in _items(_written(table, scope))]
    match _written(iterated, scope):
        case ast.List(elts=rows) | ast.Tuple(elts=rows):
            return [row.elts for row in rows if isinstance(row, ast.Tuple | ast.List)]
    return []


def _items(table: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """The keys and values of a dict that is written out."""
    match table:
        case ast.Dict(keys=keys, values=values):
            return [(key, value) for key, value in zip(keys, values, strict=True) if key is not None]
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
            return [(ast.Constant(k.arg), k.value) for k in keywords if k.arg is not None]
    return []


def _written(table: ast.expr, scope: Scope) -> ast.expr:
    """What the one assignment to a name gives it."""
    made = scope.bindings_of(table)
    only = made[0] if len(made) == 1 and made[0].kind == "assign" and not made[0].path else None
    return only.value if only is not None and only.value is not None else table


class Declared(NamedTuple):
    """What one file says of options: those it declares; which of them it sets itself, to something that is no constant
    or in place of None; and for each attribute and class-level field that it sets (`cfg.seed = 1`), the constants, or
    None where one of the values is none."""

    options: dict[str, Default]
    chosen: frozenset[str]
    settings: dict[str, list[Default] | None]


def declared_in(facts: ModuleFacts) -> Declared:
    """The options and settings of a file."""
    settings = _fields(facts)
    for name, sets in facts.attribute_sets.items():
        values = [constant(s.value) for s in sets if s.value is not None and not _is_of_torch(s)]
        if UNKNOWN in values:
            settings[name] = None
        elif values:
            settings[name] = [Default(v, settable=True) for v in values]
    options = dict(declared_options(facts))
    return Declared(options, frozenset(name for name in options if _is_chosen(name, facts)), settings)


def _is_of_torch(item: AttributeSet) -> bool:
    """Whether it sets a switch of PyTorch itself, `torch.backends.cudnn.deterministic`, which is no option."""
    root: ast.expr = item.target
    while isinstance(root, ast.Attribute):
        root = root.value
    imports = (binding for binding in item.scope.bindings_of(root) if binding.kind == "import")
    return any(binding.target.partition(".")[0] == "torch" and not binding.level for binding in imports)


def _is_chosen(name: str, facts: ModuleFacts) -> bool:
    attributes = (s for s in facts.attribute_sets.get(name, ()) if not _is_of_self(s))
    items = (s for s in facts.subscript_sets.get(name, ()) if not _is_of_own_dict(s))
    sets: Iterable[AttributeSet | SubscriptSet] = (*attributes, *items)
    return any(
        s.value is not None
        and (constant(s.value) is UNKNOWN or _is_in_place_of_none(s, facts))
        and not _is_same_everywhere(s, name)
        for s in sets
    )


def _is_of_self(item: AttributeSet) -> bool:
    """Whether an object of the project sets its own attribute, `self.seed = seed`, and is no collection of options."""
    owner = item.scope.method_class
    if owner is None or not item.scope.is_self(item.target.value):
        return False
    names = (owner.own_name, *(last_name(base) for base in getattr(owner.node, "bases", ())))
    return not any(map(_OF_OPTIONS.search, names))


def _is_of_own_dict(item: SubscriptSet) -> bool:
    """Whether it sets an entry of a dict that is begun in the same function, which holds no options: `prompt = {}`."""
    table = item.target.value
    bindings = item.scope.bindings_of(table) if isinstance(table, ast.Name) else ()
    return bool(bindings) and all(isinstance(b.value, ast.Dict) and not b.value.keys for b in bindings)


def _is_same_everywhere(item: AttributeSet | SubscriptSet, name: str) -> bool:
    """Whether it hands on the option of the same name, under no condition: `config["seed"] = int(args.seed)`."""
    value = item.value
    if isinstance(value, ast.Call) and last_name(value.func) in ("int", "float", "str") and len(value.args) == 1:
        value = value.args[0]
    is_option = isinstance(value, ast.Attribute) and value.attr == name
    return is_option and not any(isinstance(n, ast.If | ast.Try) for n in item.scope.facts.ancestors(item.statement))


def _is_in_place_of_none(item: AttributeSet | SubscriptSet, facts: ModuleFacts) -> bool:
    """`if args.seed is None: args.seed = 1`"""
    around = facts.parents.get(item.statement)
    return isinstance(around, ast.If) and ast.unparse(around.test) == f"{ast.unparse(item.target)} is None"


def _fields(facts: ModuleFacts) -> dict[str, list[Default] | None]:
    """Class-level `name = constant`, as in dataclass configurations."""
    found: dict[str, list[Default] | None] = {}
    for scope in facts.scope.children.values():
        for name, bindings in scope.bindings.items() if scope.kind == "class" else ():
            values = [constant(described(b.value)) for b in bindings if b.value is not None]
            known = [Default(v, settable=True) for v in values if v is not UNKNOWN]
            if known:
                found[name] = [*(found.get(name) or ()), *known]
    return found


def _destination(flags: list[str], dest: ast.expr | None) -> str | None:
    if isinstance(dest, ast.Constant):
        return str(dest.value)
    long = [f for f in flags if f.startswith("--")] or [f for f in flags if f.startswith("-")]
    return attribute_of(long[0]) if long else None


def _declared_default(keywords: dict[str | None, ast.expr]) -> object | Opaque:
    default = keywords.get("default")
    if default is not None:
        return constant(default)
    action = keywords.get("action")
    flag = keywords.get("is_flag")
    if isinstance(flag, ast.Constant) and flag.value is True:
        return False
    if isinstance(action, ast.Constant) and action.value in ("store_true", "store_false"):
        return action.value == "store_false"
    required = keywords.get("required")
    return UNKNOWN if isinstance(required, ast.Constant) and required.value else None


def constant(node: ast.expr) -> object | Opaque:
    """The value of a literal, which may be a negative number; UNKNOWN for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return -value if isinstance(value, int | float) else UNKNOWN
    return node.value if isinstance(node, ast.Constant) else UNKNOWN
