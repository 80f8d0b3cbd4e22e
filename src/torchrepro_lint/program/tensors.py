"""Whether an expression is a tensor, and what is known of it: dimensions, floats, gradient.

Follows names, `self` attributes, calls of modules and project functions, up to a bound; knows nothing of rules.
Answers are meant for silence: what is said is so, and what is not said is unknown.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.program.names import Variable
from torchrepro_lint.program.program import Program
from torchrepro_lint.program.reaching import reaching, shape_names
from torchrepro_lint.program.traits import (
    NOT_A_TENSOR,
    TENSOR,
    UNKNOWN_TRAITS,
    WHOLE_NUMBERS,
    Traits,
    broadcast,
    created,
    joined,
    listed,
    result,
)
from torchrepro_lint.program.values import Result, argument_for

MAX_DEPTH = 14
MAX_STEPS = 600
MODULE = "torch.nn.Module"
_NOT_TENSORS = ("numpy", "pandas", "builtins", "math", "os", "cv2", "PIL", "scipy", "sklearn", "random", "asyncio",
                "statistics", "jax", "tensorflow", "collections", "itertools", "json", "polars", "cupy")  # fmt: skip
_MODULE_BASES = ("torch.nn.", "pytorch_lightning.LightningModule", "pytorch_lightning.core.")
_PLAIN_TYPES = frozenset({"int", "float", "str", "bool", "dict", "list", "tuple", "bytes", "set", "ndarray"})
_LOADED = ("loader", "dataset", "batch", "dataloader")


class Tensors:
    """Answers for one program. Each question starts with a fresh budget of steps."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._steps = 0
        self._open: set[tuple[int, int]] = set()

    def traits(self, expr: ast.expr, scope: Scope) -> Traits:
        """What is known of the value of `expr` in `scope`."""
        self._steps = 0
        self._open.clear()
        return self._expression(expr, scope, 0)

    def is_module(self, owner: Scope) -> bool:
        """Whether a project class derives from torch.nn.Module."""
        bases = self.program.external_bases(owner)
        return any(b.startswith(_MODULE_BASES) for b in bases) or any(
            b.endswith(("Module", "PreTrainedModel", "ModelMixin")) and not b.startswith("builtins") for b in bases
        )

    # -- expressions ----------------------------------------------------------------------------------------------
    def _expression(self, expr: ast.expr, scope: Scope, depth: int) -> Traits:
        self._steps += 1
        key = (id(expr), id(scope))
        if depth > MAX_DEPTH or self._steps > MAX_STEPS or key in self._open:
            return UNKNOWN_TRAITS
        self._open.add(key)
        try:
            return self._match(expr, scope, depth + 1)
        finally:
            self._open.discard(key)

    def _match(self, expr: ast.expr, scope: Scope, depth: int) -> Traits:
        match expr:
            case ast.Constant(value=value):
                return replace(NOT_A_TENSOR, floating=isinstance(value, float)) if value is not None else UNKNOWN_TRAITS
            case ast.Name():
                return self._name(expr, scope, depth)
            case ast.Attribute():
                return self._attribute(expr, scope, depth)
            case ast.Call():
                return self._call(expr, scope, depth)
            case ast.Subscript():
                return self._item(expr, scope, depth)
            case ast.BinOp(left=left, op=op, right=right):
                found = broadcast(self._expression(left, scope, depth), self._expression(right, scope, depth))
                return replace(found, floating=True) if isinstance(op, ast.Div) else found
            case ast.Compare(left=left, comparators=[right]):
                found = broadcast(self._expression(left, scope, depth), self._expression(right, scope, depth))
                return replace(found, floating=False, gradient=False)
            case ast.UnaryOp(operand=operand) | ast.NamedExpr(value=operand) | ast.Starred(value=operand):
                return self._expression(operand, scope, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return joined([self._expression(body, scope, depth), self._expression(orelse, scope, depth)])
            case ast.BoolOp(values=values):
                return joined([self._expression(v, scope, depth) for v in values])
            case ast.JoinedStr() | ast.Dict() | ast.Tuple() | ast.List() | ast.Set() | ast.ListComp() | ast.DictComp():
                return replace(NOT_A_TENSOR, gradient=None)
        return UNKNOWN_TRAITS

    # -- names -------------------------------------------------------------------------------------------------------
    def _name(self, name: ast.Name, scope: Scope, depth: int) -> Traits:
        owner = scope.binding_scope(name.id)
        if owner is None:
            return NOT_A_TENSOR if self.program.qualified(name, scope) else UNKNOWN_TRAITS
        bindings = reaching(owner.bindings[name.id], name, owner, scope)
        found = [t for b in bindings if (t := self._binding(b, name.id, owner, depth)) is not None]
        traits = joined(found)
        count = shape_names(name, owner, scope)
        return traits.ranked(count) if count is not None else traits

    def _binding(self, binding: Binding, name: str, owner: Scope, depth: int) -> Traits | None:
        """What one binding binds; None for one that changes nothing here (`x += y`)."""
        value = binding.value
        match binding.kind:
            case "assign" if value is not None:
                if (id(value), id(owner)) in self._open:
                    return None
                return self._expression(value, owner, depth)
            case "unpack" if value is not None:
                return self._unpacked(value, binding.path, owner, depth)
            case "loop" if value is not None:
                loaded = any(word in owner.facts.text(value).lower() for word in _LOADED)
                return Traits(gradient=False) if loaded else UNKNOWN_TRAITS
            case "parameter":
                return self._parameter(binding, name, owner, depth)
            case "function" | "class" | "import":
                return NOT_A_TENSOR
            case "other" if isinstance(binding.node, ast.AugAssign):
                return None
        return UNKNOWN_TRAITS

    def _unpacked(self, value: ast.expr, path: tuple[int, ...], scope: Scope, depth: int) -> Traits:
        match value:
            case ast.Tuple(elts=items) | ast.List(elts=items) if path[0] < len(items):
                return self._expression(items[path[0]], scope, depth) if len(path) == 1 else UNKNOWN_TRAITS
            case ast.Attribute(attr="shape") | ast.Call(func=ast.Attribute(attr="size")):
                return NOT_A_TENSOR
            case ast.Call(func=ast.Attribute(attr="topk" | "sort" | "max" | "min" | "median" | "mode" | "kthvalue")):
                whole = self._expression(value, scope, depth)
                return whole if path[0] == 0 else replace(whole, floating=False, gradient=False)
            case ast.Call():
                return self._returned(value, path, scope, depth)
            case ast.Name() if self._is_batch(value, scope):
                return Traits(gradient=False)
        return UNKNOWN_TRAITS

    def _returned(self, call: ast.Call, path: tuple[int, ...], scope: Scope, depth: int) -> Traits:
        """One item of the tuple that a project function or module returns."""
        found = []
        for function in self._functions(call, scope):
            for value in function.returns:
                if not (isinstance(value, ast.Tuple) and len(path) == 1 and path[0] < len(value.elts)):
                    return UNKNOWN_TRAITS
                found.append(self._expression(value.elts[path[0]], function, depth + 1))
        return joined(found)

    def _parameter(self, binding: Binding, name: str, function: Scope, depth: int) -> Traits:
        assert isinstance(binding.node, ast.arg)
        annotated = _annotation(binding.node.annotation)
        if annotated is not None and annotated.tensor is False:
            return annotated
        calls = self.program.callers_of(function) if function.kind == "function" and depth < MAX_DEPTH - 4 else None
        passed = [
            self._expression(value, caller, depth + 2)
            for call, caller in (calls or ())
            if isinstance(value := argument_for(call, function, name), ast.expr)
        ]
        found = joined(passed)
        if annotated is not None or self._is_forward(function):
            found = replace(found, tensor=True if found.tensor is None else found.tensor)
        if annotated is not None and annotated.floating is not None:
            found = replace(found, floating=annotated.floating)
        return found if passed else replace(found, gradient=False if name == "batch" else None)

    def _is_forward(self, function: Scope) -> bool:
        owner = function.parent
        named = function.name.rpartition(".")[2] == "forward"
        return named and owner is not None and owner.kind == "class" and self.is_module(owner)

    @staticmethod
    def _is_batch(value: ast.expr, scope: Scope) -> bool:
        return isinstance(value, ast.Name) and value.id in ("batch", "data", "sample", "samples")

    # -- attributes and items --------------------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> Traits:
        owner = scope.method_class
        if isinstance(expr.value, ast.Name) and owner is not None:
            holder = scope.binding_scope(expr.value.id)
            if holder is not None and holder.self_name == expr.value.id:
                return self._member(owner, expr.attr, depth)
        match expr.attr:
            case "shape" | "device" | "dtype" | "ndim" | "training":
                return NOT_A_TENSOR
            case "data":
                return replace(self._expression(expr.value, scope, depth), gradient=False)
            case "T" | "mT" | "H" | "mH" | "real" | "imag" | "values":
                return self._expression(expr.value, scope, depth)
            case "weight" | "bias":
                made = self._made(expr.value, scope)
                return Traits(tensor=True, gradient=True, floating=True) if made else UNKNOWN_TRAITS
        if self.program.qualified(expr, scope) is not None:
            return NOT_A_TENSOR
        batch = self._is_batch(expr.value, scope)
        return Traits(gradient=False) if batch else UNKNOWN_TRAITS

    def _member(self, owner: Scope, name: str, depth: int) -> Traits:
        """`self.name`: a parameter, a buffer, a module or whatever the class assigns."""
        for base in self.program.names.bases(owner):
            if not isinstance(base, Scope):
                continue
            for call, where in base.facts.calls.get("register_buffer", ()):
                if where.method_class is base and call.args and _text(call.args[0]) == name:
                    value = call.args[1] if len(call.args) > 1 else None
                    known = self._expression(value, where, depth) if value is not None else TENSOR
                    return replace(known, tensor=True, gradient=False)
            for call, where in base.facts.calls.get("register_parameter", ()):
                if where.method_class is base and call.args and _text(call.args[0]) == name:
                    return Traits(tensor=True, floating=True, gradient=True)
            found = [t for b, s in base.attributes.get(name, ()) if (t := self._binding(b, name, s, depth)) is not None]
            if found:
                return joined(found)
        return UNKNOWN_TRAITS

    def _item(self, expr: ast.Subscript, scope: Scope, depth: int) -> Traits:
        whole = self._expression(expr.value, scope, depth)
        if whole.tensor is not True:
            batch = self._is_batch(expr.value, scope) or whole.gradient is False
            return Traits(gradient=False) if batch and whole.tensor is None else UNKNOWN_TRAITS
        keys = expr.slice.elts if isinstance(expr.slice, ast.Tuple) else [expr.slice]
        for key in keys:
            match key:
                case ast.Slice() | ast.Constant(value=bool()):
                    continue
                case ast.Constant(value=None):
                    whole = whole.shifted(1, 1)
                case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())):
                    whole = whole.shifted(-1, -1)
                case ast.Constant():
                    continue
                case _:
                    return whole.unranked()
        named = sum(not (isinstance(k, ast.Constant) and k.value in (None, ...)) for k in keys)
        added = sum(isinstance(k, ast.Constant) and k.value is None for k in keys)
        gone = sum(not isinstance(k, ast.Slice | ast.Constant) or isinstance(k, ast.Constant) and isinstance(k.value, int)
                   for k in keys)  # fmt: skip
        return whole.at_least(named + added - gone) if len(keys) > 1 else whole

    # -- calls -------------------------------------------------------------------------------------------------------
    def _call(self, call: ast.Call, scope: Scope, depth: int) -> Traits:
        name = self.program.qualified(call.func, scope)
        if name is not None:
            return self._external(name, call, scope, depth)
        functions = self._functions(call, scope)
        if functions:
            values = [(v, f) for f in functions for v in f.returns]
            found = joined([self._expression(v, f, depth + 1) for v, f in values])
            made = self._made(call.func, scope)
            return replace(found, gradient=True) if made and found.gradient is None else found
        made = self._made(call.func, scope)
        if made:
            return joined([self._module_result(m, call, scope, depth) for m in made])
        if isinstance(call.func, ast.Attribute):
            return self._method(call, call.func, scope, depth)
        return UNKNOWN_TRAITS

    def _external(self, name: str, call: ast.Call, scope: Scope, depth: int) -> Traits:
        root, _, last = name.partition(".")[0], "", name.rpartition(".")[2]
        if root == "builtins":
            return NOT_A_TENSOR if last in ("int", "float", "len", "str", "list", "dict", "range", "tuple") else UNKNOWN_TRAITS
        if root in _NOT_TENSORS:
            return NOT_A_TENSOR
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            inner = self._expression(call.args[0], scope, depth) if call.args else TENSOR
            return replace(inner, tensor=True, gradient=True)
        if name.endswith(".rearrange") and len(call.args) > 1:
            return replace(self._expression(call.args[0], scope, depth), tensor=True).ranked(_pattern(call.args[1]))
        if root != "torch":
            return UNKNOWN_TRAITS
        if name.startswith("torch.nn.") and last[:1].isupper():
            return NOT_A_TENSOR
        made = created(last, call.args, call)
        if made is not None:
            return made
        first = self._first(call, scope, depth)
        rank = catalogue_ranks().get(name)
        found = result(last, first, call.args[1:], call)
        if name == "torch.nn.functional.conv2d" or last.startswith("conv"):
            found = replace(found, tensor=True, gradient=True, floating=True)
        return replace(found.ranked(rank), tensor=True) if rank is not None else found

    def _first(self, call: ast.Call, scope: Scope, depth: int) -> Traits:
        """The first tensor that a function is given; of a list, what its items share."""
        value = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg in ("input", "tensors")), None)
        if isinstance(value, ast.List | ast.Tuple) and value.elts:
            return joined([self._expression(v, scope, depth) for v in value.elts])
        return self._expression(value, scope, depth) if value is not None else UNKNOWN_TRAITS

    def _functions(self, call: ast.Call, scope: Scope) -> list[Scope]:
        """The project functions that the call may run: functions, methods, and `forward` of project modules."""
        found: list[Scope] = []
        target = self.program.resolve(call.func, scope)
        if isinstance(target, Scope) and target.kind == "function":
            return [target]
        if target is None and isinstance(call.func, ast.Attribute):
            method = self._own_method(call.func, scope)
            if method is not None:
                return [method]
        if isinstance(target, Variable) or target is None:
            for made in self._made(call.func, scope):
                if isinstance(made.callee, Scope):
                    forward = self.program.names.class_member(made.callee, "forward")
                    found += [forward] if isinstance(forward, Scope) else []
        return found

    def _own_method(self, function: ast.Attribute, scope: Scope) -> Scope | None:
        owner = scope.method_class
        if owner is None or not isinstance(function.value, ast.Name):
            return None
        holder = scope.binding_scope(function.value.id)
        if holder is None or holder.self_name != function.value.id:
            return None
        member = self.program.names.class_member(owner, function.attr)
        return member if isinstance(member, Scope) and member.kind == "function" else None

    def _made(self, expr: ast.expr, scope: Scope) -> list[Result]:
        """The constructions of modules that `expr` may hold."""
        if not isinstance(expr, ast.Name | ast.Attribute | ast.Call):
            return []
        found = []
        for origin in self.program.origins(expr, scope):
            if not isinstance(origin, Result):
                continue
            callee = origin.callee
            if isinstance(callee, Scope) and callee.kind == "class" and self.is_module(callee):
                found.append(origin)
            elif isinstance(callee, str) and callee.startswith("torch.nn.") and callee.rpartition(".")[2][:1].isupper():
                found.append(origin)
        return found

    def _module_result(self, made: Result, call: ast.Call, scope: Scope, depth: int) -> Traits:
        if isinstance(made.callee, Scope):
            return Traits(tensor=None, gradient=True)
        name = made.callee or ""
        given = self._expression(call.args[0], scope, depth) if call.args else UNKNOWN_TRAITS
        if name == "torch.nn.Sequential":
            return self._sequence(made, given, depth)
        if name in ("torch.nn.Parameter", "torch.nn.ModuleList", "torch.nn.ModuleDict"):
            return UNKNOWN_TRAITS
        gradient = given.gradient if name in listed("modules", "without_parameters") else True
        rank = catalogue_ranks().get(name)
        found = Traits(tensor=True, floating=True, gradient=gradient)
        if rank is not None:
            return found.ranked(rank)
        if name == "torch.nn.Embedding":
            return replace(given, tensor=True, floating=True, gradient=True).shifted(1, 1)
        if name in listed("modules", "same"):
            return replace(given, tensor=True, floating=True, gradient=gradient)
        return replace(found, tensor=True if not name.endswith(("LSTM", "GRU", "RNN", "MultiheadAttention")) else None)

    def _sequence(self, made: Result, given: Traits, depth: int) -> Traits:
        """A chain of modules: the last one that fixes the number of dimensions decides it."""
        found = replace(given, tensor=True, floating=True, gradient=True)
        if not made.node.args or any(isinstance(a, ast.Starred) for a in made.node.args):
            return found.unranked()
        for layer in made.node.args:
            names = [m.callee for m in self._made(layer, made.scope)]
            ranks = {catalogue_ranks().get(n) if isinstance(n, str) else None for n in names}
            if len(ranks) == 1 and (rank := ranks.pop()) is not None:
                found = found.ranked(rank)
            elif not names or any(not isinstance(n, str) or n not in listed("modules", "same") for n in names):
                inner = [self._expression(v, f, depth + 1) for m in self._made(layer, made.scope)
                         if isinstance(m.callee, Scope) for f in self._forwards(m.callee) for v in f.returns]  # fmt: skip
                known = joined(inner)
                found = found.ranked(known.rank) if inner and known.rank is not None else found.unranked()
        return found

    def _forwards(self, owner: Scope) -> list[Scope]:
        forward = self.program.names.class_member(owner, "forward")
        return [forward] if isinstance(forward, Scope) else []

    def _method(self, call: ast.Call, function: ast.Attribute, scope: Scope, depth: int) -> Traits:
        receiver = self._expression(function.value, scope, depth)
        if receiver.tensor is False:
            return UNKNOWN_TRAITS
        if function.attr.startswith("new_"):
            made = created(function.attr, call.args, call)
            if made is not None:
                return replace(made, floating=receiver.floating if not made.floating is False else False)
        if function.attr in ("numpy", "item", "tolist", "size", "dim", "numel", "cpu_", "keys", "items"):
            return NOT_A_TENSOR
        if receiver.tensor is None and function.attr not in listed("methods", "integer"):
            if function.attr not in ("view", "permute", "unsqueeze", "flatten", "detach", "contiguous", "reshape"):
                known = function.attr in ("long", "float", "cuda", "to", "cpu", "transpose", "softmax", "squeeze", "argmax")
                receiver = receiver if known else UNKNOWN_TRAITS
                if not known:
                    return UNKNOWN_TRAITS
        return result(function.attr, receiver, call.args, call)


def catalogue_ranks() -> dict[str, int]:
    """Names whose result has a fixed number of dimensions."""
    from torchrepro_lint import catalogue

    ranks: dict[str, int] = catalogue.table("tensors")["ranks"]
    return ranks


def _annotation(node: ast.expr | None) -> Traits | None:
    """What a parameter's annotation says; None when it says nothing about tensors."""
    if node is None:
        return None
    text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)
    words = {w for w in text.replace("|", " ").replace("[", " ").replace("]", " ").replace(",", " ").split()}
    last = {w.rpartition(".")[2] for w in words}
    if last & {"LongTensor", "IntTensor", "BoolTensor"}:
        return WHOLE_NUMBERS
    if last & {"Tensor", "FloatTensor", "HalfTensor", "Parameter"} and not last & {"list", "List", "dict", "Dict", "Sequence"}:
        return TENSOR
    return NOT_A_TENSOR if last and last <= _PLAIN_TYPES | {"None", "Optional"} else None


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _pattern(node: ast.expr) -> int:
    """The number of dimensions on the right of an einops pattern."""
    right = (_text(node) or "").rpartition("->")[2]
    count, nested = 0, 0
    for token in right.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            nested += 1
            count += nested == 1
        elif token == ")":
            nested -= 1
        elif nested == 0:
            count += 1
    return count


__all__ = ["Tensors", "Traits"]
