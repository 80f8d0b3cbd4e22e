"""The places where a program sets a switch of a back end, in every spelling, and what it sets it to.

A switch is named by its owner and attribute (`torch.backends.cudnn`, `benchmark`). Knows how values reach a
switch; which of them last is said in `switches`, and what a value means for a rule is the rule's business.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torchrepro_lint.dataflow import Module, Program, Site, remembered, start_of
from torchrepro_lint.dataflow.abstract_values import Reference
from torchrepro_lint.dataflow.instantiated import instantiated_calls, makers
from torchrepro_lint.dataflow.options import outcome
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.rng.predicates import mentions_request


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """One place that sets a switch. `node` is what to show; `value` is evaluated in `value_scope`.

    `call` is the call that sets it, if one does, and `keyword` the name that the value is passed by. `inner` is the
    place in a function of the project where that is called, which `node` is then.
    """

    node: ast.AST
    value: ast.expr
    scope: Scope
    value_scope: Scope
    target: ast.Attribute | None = None
    call: ast.Call | None = None
    keyword: str | None = None
    inner: Setting | None = None

    @property
    def facts(self) -> ModuleFacts:
        """The file that it is written in."""
        return self.scope.facts

    @property
    def statement(self) -> ast.stmt:
        """The statement that does it."""
        return self.facts.statement(self.node)

    @property
    def place(self) -> tuple[int, int]:
        """Where that statement begins: line and column."""
        return start_of(self.statement)

    @property
    def written(self) -> str:
        """How it is written, in short."""
        facts = self.facts
        if self.target is not None:
            return f"{facts.text(self.target)} = {facts.text(self.value)}"
        if self.call is not None and self.keyword:
            value = self.value_scope.facts.text(self.value)
            more = "..., " if len(self.call.args) + len(self.call.keywords) > 1 else ""
            return f"{facts.text(self.call.func)}({more}{self.keyword}={value})"
        return facts.text(self.node)


def mentions(facts: ModuleFacts, name: str) -> bool:
    """Whether a file may set a switch of this name: it writes it, or takes what is written elsewhere."""
    return any(word in facts.source.text for word in (name, "**", *makers()))


def assigned(module: Module, owner: str, name: str) -> Iterator[Setting]:
    """Assignments to `owner.name`, chained, unpacked or through `setattr`, in source order."""
    program, facts = module.program, module.facts
    for item in facts.attribute_sets.get(name, ()):
        if program.qualified(item.target.value, item.scope) == owner:
            value = item.value or _unpacked(item.statement, item.target)
            if value is not None:
                yield Setting(item.statement, value, item.scope, item.scope, target=item.target)
    for call, scope in facts.calls.get("setattr", ()):
        match call.args:
            case [held, ast.Constant(value=str(attribute)), value] if attribute == name:
                if program.qualified(held, scope) == owner and isinstance(call.func, ast.Name):
                    yield Setting(call, value, scope, scope, call=call)


def _unpacked(statement: ast.stmt, target: ast.Attribute) -> ast.expr | None:
    """The item that `target` gets in `a.x, a.y = 1, 2`, also as `... = (1, 2) if test else (3, 4)`."""
    if not isinstance(statement, ast.Assign):
        return None
    for written in statement.targets:
        if isinstance(written, ast.Tuple | ast.List) and target in written.elts:
            return _item(statement.value, written.elts.index(target), len(written.elts))
    return None


def _item(value: ast.expr, index: int, size: int) -> ast.expr | None:
    match value:
        case ast.Tuple(elts=items) | ast.List(elts=items) if len(items) == size:
            return items[index]
        case ast.IfExp(test=test, body=body, orelse=orelse):
            first, second = _item(body, index, size), _item(orelse, index, size)
            if first is not None and second is not None:
                return ast.copy_location(ast.IfExp(test, first, second), value)
    return None


def passed(module: Module, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Setting]:
    """Calls that set the switch by an argument, also those that a configuration writes; `rows` maps each name to its
    `argument` and `position`."""
    for call in (*module.calls(rows), *instantiated_calls(module, module.program, rows)):
        row = rows[call.name]
        found = call.argument(row.get("argument", ""), row.get("position"))
        if isinstance(found, Site):
            positional = found.node in call.node.args
            keyword = None if positional else row.get("argument")
            yield Setting(call.node, found.node, call.scope, found.scope, call=call.node, keyword=keyword)


def state(program: Program, setting: Setting) -> bool | None:
    """Whether the switch is set to something true; None when that is only known when the program runs."""
    if None in (program.constants(setting.value, setting.value_scope) or ()):
        return None
    return outcome(setting.value, setting.value_scope, program).certain


def follows_request(program: Program, setting: Setting) -> bool:
    """Whether a value that is not constant is worked out from a seed or determinism flag, or was saved
    before."""
    if mentions_request(setting.value):
        return True
    held = (o.target for o in program.origins(setting.value, setting.value_scope) if isinstance(o, Reference))
    return any(isinstance(target, str) and target.startswith("torch.backends") for target in held)


@remembered
def reads_switch(facts: ModuleFacts, owner: str, name: str, program: Program) -> bool:
    """Whether a file that sets the switch also reads it: it saves and restores."""
    reads = facts.reads(facts.tree).of_attribute(name)
    return any(program.qualified(read.value, facts.scope_of(read)) == owner for read in reads)
