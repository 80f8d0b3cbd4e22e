"""Whether an expression is a tensor, and what is known of it: dimensions, floats, gradient.

Follows names, `self` attributes, calls of modules and project functions, up to a bound; knows nothing of rules.
What is said is so; what is not said is unknown.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import partial

from torchrepro_lint.index import Binding, Scope
from torchrepro_lint.program.kernels.annotations import annotated, dimensions_of_pattern, literal_text
from torchrepro_lint.program.kernels.layer_results import module_result, ranks
from torchrepro_lint.program.kernels.layers import CALLED_UNSEEN, Layers, is_self
from torchrepro_lint.program.kernels.signatures import created, indexed, listed, result
from torchrepro_lint.program.kernels.traits import NOT_A_TENSOR, TENSOR, UNKNOWN_TRAITS, Traits, broadcast, joined
from torchrepro_lint.program.program import Program
from torchrepro_lint.program.reaching import reaching, shape_names
from torchrepro_lint.program.values import argument_for

MAX_DEPTH = 12
MAX_STEPS = 150
_NOT_TENSORS = frozenset({
    "numpy", "pandas", "math", "os", "cv2", "PIL", "scipy", "sklearn", "random", "asyncio", "statistics", "jax",
    "tensorflow", "collections", "itertools", "json", "polars", "cupy",
})  # fmt: skip
_WHOLE_TENSORS = ("LongTensor", "IntTensor", "ShortTensor", "ByteTensor", "CharTensor", "BoolTensor")
# Parameters that carry data, not hidden states: no gradient is wanted for them.
_BATCHES = frozenset({"batch", "data", "sample", "samples"})
_INPUT = re.compile(
    r"^(?:batch|images?|imgs?|pixel_values|waveforms?|wavs?|audio|labels?|targets?|gt)$"
    r"|^(?:input|prompt)_(?:masks?|depths?|points?|boxes)$|^masks?_(?:inputs?|prompts?)$"
    r"|^(?:ref|reference|source|src)_(?:wavs?|waveforms?|audios?|images?|imgs?)$"
    r"|^(?:gt|targets?|labels?|ground_truth)_|_(?:gt|targets?|labels?)$"
)
_TARGET = re.compile(r"^(?:gt|ground_truth|labels?|targets?)$|^(?:gt|ground_truth)_|_(?:gt|labels?|targets?)$")
_MASK = re.compile(r"(?:^|_)mask(?:_|$)")  # of ones and zeros, in whatever type
_LOADED = re.compile(r"loader|dataset|batch", re.IGNORECASE)
_IMAGE_ENCODERS = ("image_encoder", "vision_encoder", "encode_image")
_MODES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


class Tensors:
    """Answers for one program, remembering what it was asked. Each question has its own budget of steps."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.layers = Layers(program)
        self._steps = 0
        self._open: set[tuple[int, int]] = set()
        self._known: dict[tuple[int, int], tuple[ast.expr, Traits]] = {}

    def traits(self, expr: ast.expr, scope: Scope) -> Traits:
        """What is known of the value of `expr` in `scope`."""
        self._steps = 0
        self._open.clear()
        return self._expression(expr, scope, 0)

    # -- expressions ------------------------------------------------------------------------------------------
    def _expression(self, expr: ast.expr, scope: Scope, depth: int) -> Traits:
        key = (id(expr), id(scope))
        if key in self._known:
            return self._known[key][1]
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > MAX_STEPS or key in self._open:
            return UNKNOWN_TRAITS
        self._open.add(key)
        found = self._match(expr, scope, depth + 1)
        self._open.discard(key)
        self._known[key] = expr, found  # the node is kept, so that its id stays its own
        return found

    def _match(self, expr: ast.expr, scope: Scope, depth: int) -> Traits:
        match expr:
            case ast.Constant(value=value):
                return _constant(value)
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
                return replace(found, floating=True, whole=None) if isinstance(op, ast.Div) else found
            case ast.Compare(left=left, comparators=[right]):
                found = broadcast(self._expression(left, scope, depth), self._expression(right, scope, depth))
                return replace(found, floating=False, gradient=False, whole=True)
            case ast.UnaryOp(operand=inner) | ast.NamedExpr(value=inner) | ast.Starred(value=inner):
                return self._expression(inner, scope, depth)
            case ast.IfExp(body=body, orelse=orelse):
                return joined([self._expression(body, scope, depth), self._expression(orelse, scope, depth)])
            case ast.BoolOp(values=values):
                return joined([self._expression(v, scope, depth) for v in values])
            case ast.JoinedStr() | ast.Dict() | ast.Tuple() | ast.List() | ast.Set() | ast.ListComp() | ast.DictComp():
                return replace(NOT_A_TENSOR, gradient=None)
        return UNKNOWN_TRAITS

    # -- names --------------------------------------------------------------------------------------------------
    def _name(self, name: ast.Name, scope: Scope, depth: int) -> Traits:
        owner = scope.binding_scope(name.id)
        if owner is None:
            return NOT_A_TENSOR if self.program.qualified(name, scope) else UNKNOWN_TRAITS
        bindings = reaching(owner.bindings[name.id], name, owner, scope)
        traits = joined([t for b in bindings if (t := self._binding(b, name.id, owner, depth)) is not None])
        if traits.gradient is None and _TARGET.search(name.id):
            traits = replace(traits, gradient=False)
        count = shape_names(name, owner, scope)
        return traits if count is None else traits.ranked(count)

    def _binding(self, binding: Binding, name: str, owner: Scope, depth: int) -> Traits | None:
        """What one binding binds; None for one that changes nothing here (`x += y`, `x = x.f()` in a loop)."""
        value = binding.value
        match binding.kind:
            case "assign" if value is not None:
                open_already = (id(value), id(owner)) in self._open
                return None if open_already else self._expression(value, owner, depth)
            case "unpack" if value is not None:
                return self._unpacked(value, binding.path, owner, depth)
            case "loop" if value is not None:
                return Traits(gradient=False) if _LOADED.search(owner.facts.text(value)) else UNKNOWN_TRAITS
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
            case ast.Call(func=ast.Attribute(attr=name)) if name in listed("methods", "with_indices"):
                whole = self._expression(value, scope, depth)
                unique = True if name in ("topk", "sort") else None
                index = replace(whole, floating=False, gradient=False, whole=True, unique=unique)
                return whole if path[0] == 0 else index
            case ast.Call(func=ast.Attribute(attr="where" | "nonzero")):
                return Traits(tensor=True, floating=False, gradient=False, unique=True).ranked(1)
            case ast.Call():
                return self._returned(value, path, scope, depth)
            case ast.Name(id=name) if name in _BATCHES:
                return Traits(gradient=False)
        return UNKNOWN_TRAITS

    def _returned(self, call: ast.Call, path: tuple[int, ...], scope: Scope, depth: int) -> Traits:
        """One item of the tuple that a project function or module returns."""
        found = []
        for function in self.layers.functions(call, scope):
            for value in function.returns:
                if not (isinstance(value, ast.Tuple) and len(path) == 1 and path[0] < len(value.elts)):
                    return UNKNOWN_TRAITS
                found.append(self._expression(value.elts[path[0]], function, depth + 1))
        return joined(found)

    def _parameter(self, binding: Binding, name: str, function: Scope, depth: int) -> Traits:
        said = annotated(binding.node.annotation) if isinstance(binding.node, ast.arg) else None
        if said is not None and said.tensor is False:
            return said
        seen = function.kind == "function" and function.name.rpartition(".")[2] not in CALLED_UNSEEN
        calls = self.program.callers_of(function) if seen and depth < MAX_DEPTH - 4 else None
        passed = [
            self._expression(value, caller, depth + 2)
            for call, caller in calls or ()
            if isinstance(value := argument_for(call, function, name), ast.expr)
        ]
        wanted = any(t.gradient for t in passed) or joined(passed).gradient  # one call that trains is enough
        found = replace(joined(passed), host=None, gradient=wanted)
        if found.tensor is None and (said is not None or self._is_forward(function)):
            found = replace(found, tensor=True)
        if said is not None and said.floating is not None:
            found = replace(found, floating=said.floating)
        if found.gradient is not True and found.whole is None and _MASK.search(name):
            found = replace(found, whole=True)
        if passed:
            return found
        return replace(found, gradient=False if _INPUT.search(name) or _is_image(name, function) else None)

    def _is_forward(self, function: Scope) -> bool:
        owner = function.parent
        named = function.name.rpartition(".")[2] == "forward"
        return named and owner is not None and owner.kind == "class" and self.layers.is_module(owner)

    # -- attributes and items -----------------------------------------------------------------------------------
    def _attribute(self, expr: ast.Attribute, scope: Scope, depth: int) -> Traits:
        owner = scope.method_class
        if owner is not None and is_self(expr.value, scope):
            return self._member(owner, expr.attr, depth)
        match expr.attr:
            case "shape" | "device" | "dtype" | "ndim" | "training":
                return NOT_A_TENSOR
            case "data":
                return replace(self._expression(expr.value, scope, depth), gradient=False)
            case "T" | "mT" | "H" | "mH" | "real" | "imag" | "values":
                return self._expression(expr.value, scope, depth)
            case "weight" | "bias" if self.layers.made(expr.value, scope):
                return Traits(tensor=True, gradient=True, floating=True)
        if isinstance(self.layers.resolve(expr, scope), str):
            return NOT_A_TENSOR
        return Traits(gradient=False) if _is_batch(expr.value) else UNKNOWN_TRAITS

    def _member(self, owner: Scope, name: str, depth: int) -> Traits:
        """`self.name`: a parameter, a buffer, a module or whatever the class assigns."""
        for base in self.program.names.bases(owner):
            if not isinstance(base, Scope):
                continue
            for method, gradient in (("register_buffer", False), ("register_parameter", True)):
                for call, where in base.facts.calls.get(method, ()):
                    if where.method_class is base and call.args and literal_text(call.args[0]) == name:
                        value = self._expression(call.args[1], where, depth) if len(call.args) > 1 else TENSOR
                        return replace(value, tensor=True, gradient=gradient, host=None)
            found = [t for b, s in base.attributes.get(name, ()) if (t := self._binding(b, name, s, depth)) is not None]
            if found:
                return replace(joined(found), host=None)  # what a module holds moves with it
        return UNKNOWN_TRAITS

    def _item(self, expr: ast.Subscript, scope: Scope, depth: int) -> Traits:
        whole = self._expression(expr.value, scope, depth)
        if whole.tensor is True:
            return indexed(whole, expr.slice)
        untrained = whole.tensor is None and (_is_batch(expr.value) or whole.gradient is False)
        return Traits(gradient=False) if untrained else UNKNOWN_TRAITS

    # -- calls ----------------------------------------------------------------------------------------------------
    def _call(self, call: ast.Call, scope: Scope, depth: int) -> Traits:
        name = self.layers.resolve(call.func, scope)
        if isinstance(name, str):
            return self._external(name, call, scope, depth)
        functions = self.layers.functions(call, scope)
        made = self.layers.made(call.func, scope)
        if functions:
            returned = [self._expression(v, f, depth + 1) for f in functions for v in f.returns]
            # An index that is handed over ready is of the kind that the function would make.
            found = replace(joined(returned), unique=any(t.unique for t in returned) or None)
            learned = found.gradient is None and any(self.layers.learns(m) for m in made)
            return replace(found, gradient=True) if learned else found
        if made:
            given = self._expression(call.args[0], scope, depth) if call.args else UNKNOWN_TRAITS
            read = partial(self._expression, depth=depth + 1)
            return joined([module_result(m, given, self.layers, read) for m in made])
        return self._method(call, call.func, scope, depth) if isinstance(call.func, ast.Attribute) else UNKNOWN_TRAITS

    def _external(self, name: str, call: ast.Call, scope: Scope, depth: int) -> Traits:
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        if root in _NOT_TENSORS or (
            root == "builtins" and last in ("int", "float", "len", "str", "list", "dict", "range")
        ):
            return NOT_A_TENSOR
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            inner = self._expression(call.args[0], scope, depth) if call.args else TENSOR
            return replace(inner, tensor=True, gradient=True)
        if last == "rearrange" and len(call.args) > 1:
            rank = dimensions_of_pattern(call.args[1])
            return replace(self._expression(call.args[0], scope, depth), tensor=True).ranked(rank)
        if root != "torch":
            return UNKNOWN_TRAITS
        if name.startswith("torch.nn.") and last[:1].isupper():
            return NOT_A_TENSOR
        if last.endswith("Tensor"):  # torch.Tensor(values), torch.FloatTensor(...)
            return replace(TENSOR, gradient=False, floating=last not in _WHOLE_TENSORS)
        made = created(last, call.args, call)
        return made if made is not None else self._function(name, last, call, scope, depth)

    def _function(self, name: str, last: str, call: ast.Call, scope: Scope, depth: int) -> Traits:
        """What a function of torch makes of its first tensor."""
        found = result(last, self._first(call, scope, depth), call.args[1:], call)
        if last.startswith("conv"):
            kernel = self._expression(call.args[1], scope, depth) if len(call.args) > 1 else UNKNOWN_TRAITS
            learned = found.gradient if kernel.gradient is False else True
            found = replace(found, tensor=True, gradient=learned, floating=True)
        if last in ("interpolate", "upsample"):
            mode = next((literal_text(k.value) for k in call.keywords if k.arg == "mode"), None)
            rank = _MODES.get(mode or "")
        else:
            rank = ranks().get(name)
        return found if rank is None else replace(found.ranked(rank), tensor=True)

    def _first(self, call: ast.Call, scope: Scope, depth: int) -> Traits:
        """The first tensor that a function is given; of a list, what its items share."""
        named = (k.value for k in call.keywords if k.arg in ("input", "tensors"))
        value = call.args[0] if call.args else next(named, None)
        if isinstance(value, ast.List | ast.Tuple) and value.elts:
            return joined([self._expression(v, scope, depth) for v in value.elts])
        return self._expression(value, scope, depth) if value is not None else UNKNOWN_TRAITS

    def _method(self, call: ast.Call, function: ast.Attribute, scope: Scope, depth: int) -> Traits:
        receiver = self._expression(function.value, scope, depth)
        name = function.attr
        if receiver.tensor is False:
            return UNKNOWN_TRAITS
        if name.startswith("new_") and (made := created(name, call.args, call)) is not None:
            return replace(made, floating=receiver.floating if made.floating is not False else False)
        if name in listed("methods", "leaves"):
            return NOT_A_TENSOR
        if receiver.tensor is None and name not in listed("methods", "tensor_like"):
            return UNKNOWN_TRAITS
        return result(name, receiver, call.args, call)


def _is_batch(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _BATCHES


def _is_image(name: str, function: Scope) -> bool:
    """Whether a parameter, or what is made of it first, is handed to an image encoder."""
    for encoder in _IMAGE_ENCODERS:
        for call, scope in function.facts.calls.get(encoder, ()):
            handed = call.args[0] if call.args and scope is function else None
            if isinstance(handed, ast.Name):
                values = [b.value for b in function.bindings.get(handed.id, ())]
                firsts = [v.args[0] for v in values if isinstance(v, ast.Call) and v.args]
                if any(isinstance(v, ast.Name) and v.id == name for v in (handed, *values, *firsts)):
                    return True
    return False


def _constant(value: object) -> Traits:
    if value is None:
        return UNKNOWN_TRAITS
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return replace(NOT_A_TENSOR, floating=isinstance(value, float), whole=whole or None)
