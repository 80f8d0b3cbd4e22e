"""Options and fields that hold a program's seed: which of them, how it is read, and which of their values are none."""

from __future__ import annotations

import ast
import re
from typing import Literal, NamedTuple

from torchrepro_lint.index import Binding, ModuleFacts, Scope, keyword_value, last_name, walk
from torchrepro_lint.project.declarations import (
    declarations,
    declared_options,
    described,
    gives_text,
    option_names,
    takes_integers,
)

SEED_NAME = re.compile(
    r"(?:(?:base|default|exp|experiment|fixed|global|init|initial|main|manual|master|my|program|rand|random|rng|run|torch"
    r"|train|training)_?)?seed(?:_?(?:num|number|val|value))?",
    re.IGNORECASE,
)


class SeedOption(NamedTuple):
    """An option or field for the seed, and which values of it are no seed: `None`, `negative` numbers, or neither.

    `is_text` says that what the user gives stays a text; `default` is the name of the constant that it is by default.
    """

    name: str
    off: Literal["None", "negative"] | None = None
    is_text: bool = False
    default: str = ""

    def of(self, text: str, default: str) -> str:
        """The seed, where the option is read as `text`: `default` where it is off."""
        if self.off == "negative":
            return f"max({text}, {default})"
        if self.off is None:
            return f"int({text})" if self.is_text else text
        return f"{text} or 0" if default == "0" else f"{default} if {text} is None else {text}"


def seed_option(facts: ModuleFacts) -> SeedOption | None:
    """The option for the seed in a file: a number, or none by default."""
    options = {name: o.value for name, o in declared_options(facts).items() if SEED_NAME.fullmatch(name)}
    unknown = [name for name in option_names(facts) if name not in options and SEED_NAME.fullmatch(name)]
    named = {name: held for name in unknown if (held := _named_default(name, facts)) is not None}
    options |= dict.fromkeys(named, 0)
    name = "seed" if "seed" in options else next(iter(options), None)
    if name is None:
        return None
    value = options[name]
    if isinstance(value, str) and value.isdecimal() and takes_integers(name, facts):
        return SeedOption(name)  # a parser reads the default as what a user gives
    if type(value) is int:
        is_text = value >= 0 and gives_text(name, facts)
        return SeedOption(name, "negative" if value < 0 else None, is_text, named.get(name, ""))
    return SeedOption(name, "None") if value is None and takes_integers(name, facts) else None


def _named_default(option: str, facts: ModuleFacts) -> str | None:
    """The name of the constant, a number, that is the default of an option: `default=SEED`."""
    for call in takes_integers(option, facts):
        default = keyword_value(call, "default")
        made = facts.scope_of(call).bindings_of(default) if isinstance(default, ast.Name) else ()
        if isinstance(default, ast.Name) and len(made) == 1 and is_seed(made[0].value):
            return default.id
    return None


def is_seed_parameter(name: str, binding: Binding, function: Scope) -> bool:
    """Whether this is the seed that a command line fills in: of a function that click decorates, or with the default
    `typer.Option(1)`."""
    decorators = [d for d in getattr(function.node, "decorator_list", ()) if isinstance(d, ast.Call)]
    if any(last_name(d.func) == "option" for d in decorators):
        option = declared_options(function.facts).get(name)
        is_number = option is not None and type(option.value) is int and 0 <= option.value < 2**32
        return is_number and declarations(name, function.facts)[0][0] in decorators
    value = binding.value
    return isinstance(value, ast.expr) and described(value) is not value and is_seed(described(value))


def seed_field(owner: Scope) -> SeedOption | None:
    """The field for the seed of a class of settings: `seed: int = 1`, `seed: int = field(default=1)`."""
    for name, made in owner.bindings.items():
        if (
            SEED_NAME.fullmatch(name)
            and len(made) == 1
            and made[0].value is not None
            and is_seed(described(made[0].value))
        ):
            return SeedOption(name, _off(made[0]))
    return None


def _off(field: Binding) -> Literal["None"] | None:
    """Which value of a field is no seed, by its annotation: `seed: int | None = 1`."""
    annotation = getattr(field.node, "annotation", None)
    parts = list(walk(annotation)) if isinstance(annotation, ast.AST) else []
    is_none = any(isinstance(part, ast.Constant) and part.value is None for part in parts)
    return "None" if is_none or "Optional" in map(last_name, parts) else None


def is_seed(value: ast.expr | None) -> bool:
    """Whether an expression is a number that every generator takes as its seed."""
    return isinstance(value, ast.Constant) and type(value.value) is int and 0 <= value.value < 2**32
