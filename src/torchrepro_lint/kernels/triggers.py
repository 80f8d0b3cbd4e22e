"""Which calls of a file the catalogue of operations may describe, told by names alone.

`triggers.txt` lists every spelling, so that no table is read, and nothing else of this analysis imported, for a file
that calls none of them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from torchrepro_lint.cards import rules_dir
from torchrepro_lint.dataflow import CallSite, Program, remembered_last
from torchrepro_lint.index import ITEM, ModuleFacts, Scope, last_name

METHOD = "torch.Tensor."
LAYERS = ("torch.nn.", "torch_geometric.nn.", "dgl.nn.")  # what modules' names begin with
GETTER = "_jit_get_operation"  # of torch._C: gives the operation "aten::name", as `torch.ops.aten.name` does


class _Line(NamedTuple):
    family: str
    word: str  # without which a file calls none of the names
    names: tuple[str, ...]


@cache
def _lines() -> tuple[_Line, ...]:
    text = (rules_dir() / "catalogue" / "ops" / "triggers.txt").read_text(encoding="utf-8")
    found = (line.partition(":") for line in text.splitlines() if line and not line.startswith("#"))
    return tuple(_Line(*head.partition(" if ")[::2], tuple(names.split())) for head, _, names in found)


@cache
def triggers() -> Mapping[str, tuple[str, ...]]:
    """Spelling -> the families that have a reported row for it."""
    found: dict[str, tuple[str, ...]] = {}
    for line in _lines():
        for name in line.names:
            found[name] = (*found.get(name, ()), line.family)
    return found


@cache
def _by_last_part(words: frozenset[str]) -> tuple[Mapping[str, frozenset[str]], Mapping[str, str]]:
    """Last part -> functions and modules; last part -> tensor method. Of a file that has these words."""
    functions: dict[str, frozenset[str]] = {}
    methods: dict[str, str] = {}
    for name in (name for line in _lines() if not line.word or line.word in words for name in line.names):
        last = name.rpartition(".")[2]
        if name.startswith(METHOD):
            methods[last] = name
        else:
            functions[last] = functions.get(last, frozenset()) | {name}
    return functions, methods


def _called_in(facts: ModuleFacts) -> tuple[Mapping[str, frozenset[str]], Mapping[str, str]]:
    """What the file may call."""
    return _by_last_part(frozenset(line.word for line in _lines() if line.word and line.word in facts.source.text))


def any_called(facts: ModuleFacts) -> bool:
    """Whether anything in the file is written like a call of the catalogue."""
    if "torch" not in facts.source.text:
        return False
    functions, methods = _called_in(facts)
    written = _written(facts)
    return not (functions.keys().isdisjoint(written) and methods.keys().isdisjoint(facts.calls)) or GETTER in written


def mentioned(facts: ModuleFacts) -> frozenset[str]:
    """The functions and modules of the catalogue that this file may call, by the last part of what it writes."""
    functions, _ = _called_in(facts)
    return frozenset(name for last in functions.keys() & _written(facts) for name in functions[last])


def derives(facts: ModuleFacts) -> bool:
    """Whether a class at the top of the file derives from something that is called like a spelling."""
    functions, _ = _called_in(facts)
    return not functions.keys().isdisjoint(_base_names(facts))


def function_calls(facts: ModuleFacts) -> Iterator[tuple[frozenset[str], ast.Call, Scope]]:
    """(spellings, call, scope) of the calls written like a function or module of the catalogue."""
    functions, _ = _called_in(facts)
    for last in sorted(functions.keys() & (facts.calls.keys() | facts.aliases.keys())):
        for spelled in (last, *sorted(facts.aliases.get(last, ()))):
            for call, scope in facts.calls.get(spelled, ()):
                yield functions[last], call, scope


@cache
def _named_as_values() -> re.Pattern[bytes]:
    """`nn.ReflectionPad2d` without a call, and `layer=GCNConv`, `{"gcn": GCNConv}` of a package of layers."""
    own, others = _classes(LAYERS[:1]), _classes(LAYERS[1:])
    return re.compile(rb"nn\.(?:%b)\b(?!\s*\()|[=:({[]\s*(?:\w+\.)*(?:%b)\b(?!\s*[(.])" % (own, others))


def _classes(beginnings: tuple[str, ...]) -> bytes:
    """The last parts of layers' names, as alternatives."""
    names = {name.rpartition(".")[2] for name in triggers() if name.startswith(beginnings)}
    return "|".join(sorted(name for name in names if name[:1].isupper())).encode()


@remembered_last
def calls_of_values(facts: ModuleFacts, program: Program) -> tuple[CallSite, ...]:
    """The calls of what may be one of several layers: `pad_layer(1)`, `layers[name](1)`, `layer_of(name)(1)`, in a
    project that names a layer of the catalogue other than to call it; and those of what is kept as an attribute."""
    if "torch" not in facts.source.text:
        return ()
    kept, items = tuple(_calls_of_kept(facts)), facts.calls.get(ITEM, ())
    if not program.project.text.any_match(_named_as_values()):
        functions, _ = _called_in(facts)
        return (*kept, *(s for s in items if any(last_name(arm) in functions for arm in _arms(s[0].func, s[1]))))
    named = (s for spelled, sites in facts.calls.items() if spelled != ITEM for s in sites if _is_of_variable(*s))
    return (*kept, *items, *named)


def _calls_of_kept(facts: ModuleFacts) -> Iterator[CallSite]:
    """`self.pool(x)` after `self.pool = F.adaptive_avg_pool2d`, or one of several that are chosen from."""
    functions, _ = _called_in(facts)
    for name in facts.calls.keys() & facts.attribute_sets.keys():
        values = [arm for s in facts.attribute_sets[name] for arm in _arms(s.value, s.scope)]
        if any(isinstance(v, ast.Name | ast.Attribute) and last_name(v) in functions for v in values):
            yield from (site for site in facts.calls[name] if isinstance(site[0].func, ast.Attribute))


def _arms(value: ast.expr | None, scope: Scope) -> Sequence[ast.expr | None]:
    """What a test or a key chooses from."""
    match value:
        case ast.IfExp(body=body, orelse=orelse):
            return (body, orelse)
        case ast.Subscript(value=holder):
            written = (holder, *(b.value for b in scope.bindings_of(holder)))
            return [item for each in written if isinstance(each, ast.Dict) for item in each.values]
    return (value,)


def _is_of_variable(call: ast.Call, scope: Scope) -> bool:
    bound = scope.bindings_of(call.func)
    return any(b.kind == "parameter" or (b.kind == "assign" and not isinstance(b.value, ast.Call)) for b in bound)


def operator_calls(facts: ModuleFacts) -> Iterator[tuple[str, ast.Call, Scope]]:
    """(spelling, call, scope) of the calls that get an operation of the catalogue by its name as a text."""
    for call, scope in facts.calls.get(GETTER, ()):
        text = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        name = f"torch.ops.{text.replace('::', '.')}" if isinstance(text, str) else ""
        if name in triggers():
            yield name, call, scope


def method_calls(facts: ModuleFacts) -> Iterator[tuple[str, ast.Call, Scope]]:
    """(method, call, scope) of the calls written like a method of the catalogue."""
    _, methods = _called_in(facts)
    for last in sorted(methods.keys() & facts.calls.keys()):
        for call, scope in facts.calls[last]:
            if isinstance(call.func, ast.Attribute):
                yield methods[last], call, scope


def _written(facts: ModuleFacts) -> set[str]:
    """The last parts of calls, of aliased names, and of the bases of the classes at the top of the file."""
    return {*facts.calls, *facts.aliases, *_base_names(facts)}


def _base_names(facts: ModuleFacts) -> set[str]:
    classes = (node for node in facts.scope.children if isinstance(node, ast.ClassDef))
    return {last_name(base) for node in classes for base in node.bases}
