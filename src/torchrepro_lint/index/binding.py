"""What names stand for in a scope: assignments, unpacked targets, attributes of `self`, parameters. Adds to the facts
what one binding says; which node is visited when is not its business."""

from __future__ import annotations

import ast

from torchrepro_lint.index.facts import ITEM, AttributeSet, Binding, Scope, SubscriptSet


def enter(scope: Scope, kind: str, name: str, node: ast.AST) -> Scope:
    """The new scope of `node`, within `scope`."""
    full = f"{scope.name}.{name}" if scope.name else name
    inner = Scope(kind, full, node, scope, scope.facts)  # type: ignore[arg-type]
    if kind in ("class", "comprehension"):
        inner.runs = scope.runs
    scope.children[node] = inner
    return inner


def bind(scope: Scope, name: str, binding: Binding) -> None:
    """Let a name be bound in `scope`, or where `global` and `nonlocal` there put it."""
    match scope.outer.get(name):
        case "global":
            scope = scope.facts.scope
        case "nonlocal":
            outer = scope.parent
            while outer is not None and (outer.kind == "class" or name not in outer.bindings):
                outer = outer.parent
            scope = outer or scope
    scope.bindings.setdefault(name, []).append(binding)


def bind_target(
    scope: Scope, target: ast.expr, kind: str, node: ast.AST, value: ast.expr | None, path: tuple[int, ...] = ()
) -> None:
    """Let a target of any form be bound to `value`, or to what `path` leads to in it."""
    match target:
        case ast.Name(id=name):
            bind(scope, name, Binding(kind, node, value, path))  # type: ignore[arg-type]
            if kind == "assign" and isinstance(value, ast.Name | ast.Attribute):
                original = value.attr if isinstance(value, ast.Attribute) else value.id
                if original != name:
                    scope.facts.aliases.setdefault(original, set()).add(name)
        case ast.Tuple(elts=items) | ast.List(elts=items):
            starred = next((i for i, e in enumerate(items) if isinstance(e, ast.Starred)), len(items))
            for i, item in enumerate(items):
                known = i < starred and kind != "other"
                inner_kind = "unpack" if kind == "assign" else kind
                bind_target(scope, item, inner_kind if known else "other", node,
                             value if known else None, (*path, i))  # fmt: skip
        case ast.Starred(value=inner):
            bind_target(scope, inner, "other", node, None)
        case ast.Attribute(attr=attr, value=owner):
            statement = node if isinstance(node, ast.stmt) else None
            if statement is not None:
                shown = value if kind == "assign" else None
                scope.facts.attribute_sets.setdefault(attr, []).append(AttributeSet(target, shown, statement, scope))
            _bind_attribute(scope, attr, owner, Binding(kind, node, value, path))  # type: ignore[arg-type]
        case ast.Subscript(slice=ast.Constant(value=str(key))) if isinstance(node, ast.stmt):
            scope.facts.subscript_sets.setdefault(key, []).append(
                SubscriptSet(target, value if kind == "assign" else None, node, scope)
            )
        case ast.Subscript() if isinstance(node, ast.stmt):
            scope.facts.subscript_sets.setdefault(ITEM, []).append(
                SubscriptSet(target, value if kind == "assign" else None, node, scope)
            )


def _bind_attribute(scope: Scope, attr: str, owner: ast.expr, binding: Binding) -> None:
    """`self.attr = ...` in a method is an attribute of its class."""
    function: Scope | None = scope
    while function is not None and isinstance(owner, ast.Name):
        if function.self_name == owner.id and function.parent is not None:
            function.parent.attributes.setdefault(attr, []).append((binding, scope))
            return
        function = function.parent


def all_arguments(args: ast.arguments) -> list[ast.arg]:
    """The parameters of a function, those that take any number included."""
    extra = [a for a in (args.vararg, args.kwarg) if a is not None]
    return [*args.posonlyargs, *args.args, *args.kwonlyargs, *extra]


def bind_parameters(args: ast.arguments, scope: Scope) -> None:
    """Bind the parameters of the function that `scope` is to their defaults."""
    positional = args.posonlyargs + args.args
    missing: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
    for arg, default in zip(positional, missing + list(args.defaults), strict=True):
        scope.bindings[arg.arg] = [Binding("parameter", arg, default)]
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        scope.bindings[arg.arg] = [Binding("parameter", arg, default)]
    for extra in (args.vararg, args.kwarg):
        if extra is not None:
            scope.bindings[extra.arg] = [Binding("other", extra)]
