"""What calls make of tensors: of modules and functions of the project, of PyTorch's, and methods of tensors.

Resolves what is called; `signatures` knows what PyTorch's own functions do, the catalogue what its modules do.
"""

from __future__ import annotations

import ast
from functools import cache

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Of
from torchrepro_lint.dataflow.abstract_values import Result
from torchrepro_lint.index import Binding, Scope, arguments_of, keyword_value, last_name
from torchrepro_lint.kernels import hints
from torchrepro_lint.kernels.annotations import dimensions_of_pattern, literal_text
from torchrepro_lint.kernels.layers import SEQUENCE, Layers
from torchrepro_lint.kernels.signatures import created, listed, requires_grad, result
from torchrepro_lint.kernels.traits import NOT_A_TENSOR, STORED, TENSOR, UNKNOWN_TRAITS, Traits, joined

_NOT_TENSORS = frozenset({
    "numpy", "pandas", "math", "os", "cv2", "PIL", "scipy", "sklearn", "random", "asyncio", "statistics", "jax",
    "tensorflow", "collections", "itertools", "json", "polars", "cupy",
})  # fmt: skip
_PLAIN = frozenset(f"builtins.{name}" for name in ("int", "float", "len", "str", "list", "dict", "range"))
_WRAPPERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.autograd.Variable")
_WHOLE_TENSORS = ("LongTensor", "IntTensor", "ShortTensor", "ByteTensor", "CharTensor", "BoolTensor")
_AS_BEFORE = -1  # dimensions: as many as what a layer is given
_MODES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


class Calls:
    """Answers with what `read` says of the receiver, the arguments, and what a function returns."""

    def __init__(self, layers: Layers, read: Of[Traits]) -> None:
        self.layers = layers
        self._read = read

    def result(self, call: ast.Call, scope: Scope) -> Traits:
        """What the call returns."""
        name = self.layers.resolve(call.func, scope)
        if isinstance(name, str):
            return self._external(name, call, scope)
        functions = self.layers.functions(call, scope)
        made = self.layers.made(call.func, scope)
        if functions:
            returned = [self._read(v, f) for f in functions for v in f.returns]
            # An index that is handed over ready is of the kind that the function would make.
            found = joined(returned)._replace(unique=any(t.unique for t in returned) or None)
            learned = found.gradient is None and any(self.layers.learns(m) for m in made)
            return found._replace(gradient=True) if learned or self._hands_on(found, call, scope) else found
        if made:
            return joined([self._of_module(m, call, scope) for m in made])
        return self._method(call, call.func, scope) if isinstance(call.func, ast.Attribute) else UNKNOWN_TRAITS

    def _hands_on(self, found: Traits, call: ast.Call, scope: Scope) -> bool:
        """Whether a function that makes floats of what it is given, as far as it is known, is given a gradient here."""
        if found.gradient is not None or not found.tensor or found.floating is False or found.whole:
            return False
        return self._any_gradient(call, scope)

    def _any_gradient(self, call: ast.Call, scope: Scope) -> bool:
        return any(self._read(v, scope).gradient for v in arguments_of(call))

    def _external(self, name: str, call: ast.Call, scope: Scope) -> Traits:
        root, last = name.partition(".")[0], name.rpartition(".")[2]
        if root in _NOT_TENSORS or name in _PLAIN:
            return NOT_A_TENSOR
        if name in listed("stored", "functions"):
            return STORED
        if name in _WRAPPERS:
            inner = self._read(call.args[0], scope) if call.args else TENSOR
            is_variable = name == "torch.autograd.Variable"
            gradient = requires_grad(call, otherwise=inner.gradient) if is_variable else not _is_frozen(call)
            return inner._replace(tensor=True, gradient=gradient)
        if last == "rearrange" and len(call.args) > 1:
            rank = dimensions_of_pattern(call.args[1])
            return self._read(call.args[0], scope)._replace(tensor=True).ranked(rank)
        if root != "torch":
            given = name.startswith(_differentiable()) and self._any_gradient(call, scope)
            return Traits(gradient=True) if given else UNKNOWN_TRAITS
        if name.startswith("torch.nn.") and last[:1].isupper():
            return NOT_A_TENSOR
        if last.endswith("Tensor"):  # torch.Tensor(values), torch.FloatTensor(...)
            return TENSOR._replace(gradient=False, floating=last not in _WHOLE_TENSORS)
        made = created(last, call.args, call)
        if made is None:
            return self._function(name, last, call, scope)
        counts = last in ("tensor", "as_tensor") and call.args and holds_counts(call.args[0], scope)
        return made._replace(unique=True) if counts else made

    def _function(self, name: str, last: str, call: ast.Call, scope: Scope) -> Traits:
        """What a function of torch makes of its first tensor."""
        found = result(last, self._first(call, scope), call.args[1:], call)
        if last.startswith("conv"):
            kernel = self._read(call.args[1], scope) if len(call.args) > 1 else UNKNOWN_TRAITS
            learned = found.gradient if kernel.gradient is False else True
            found = found._replace(tensor=True, gradient=learned, floating=True)
        if last in listed("methods", "products") and not found.gradient and self._any_gradient(call, scope):
            found = found._replace(gradient=True)
        if last in ("interpolate", "upsample"):
            rank = _MODES.get(literal_text(keyword_value(call, "mode")) or "")
        else:
            rank = ranks().get(name)
        return found if rank is None else found.ranked(rank)._replace(tensor=True)

    def _first(self, call: ast.Call, scope: Scope) -> Traits:
        """The first tensor that a function is given; of a list, what its items share."""
        named = (k.value for k in call.keywords if k.arg in ("input", "tensors"))
        value = call.args[0] if call.args else next(named, None)
        if isinstance(value, ast.List | ast.Tuple) and value.elts:
            return joined([self._read(v, scope) for v in value.elts])
        return self._read(value, scope) if value is not None else UNKNOWN_TRAITS

    def _method(self, call: ast.Call, function: ast.Attribute, scope: Scope) -> Traits:
        receiver = self._read(function.value, scope)
        name = function.attr
        if name in listed("stored", "methods"):
            return STORED
        if receiver.tensor is False:
            return UNKNOWN_TRAITS
        if name in ("get", "pop") and (hints.is_batch(function.value) or receiver == STORED):
            return joined([Traits(gradient=False), *(self._read(v, scope) for v in call.args[1:])])
        if name.startswith("new_") and (made := created(name, call.args, call)) is not None:
            return made._replace(floating=receiver.floating if made.floating is not False else False)
        if name in listed("methods", "leaves"):
            return NOT_A_TENSOR
        if receiver.tensor is None and name not in listed("methods", "tensor_like"):
            return Traits(gradient=True) if self._takes_in(name, UNKNOWN_TRAITS, call, scope) else UNKNOWN_TRAITS
        found = result(name, receiver, call.args, call)
        return found._replace(gradient=True) if self._takes_in(name, found, call, scope) else found

    def _takes_in(self, name: str, found: Traits, call: ast.Call, scope: Scope) -> bool:
        """Whether a gradient of what the method is given flows through its result: `zeros.scatter_add(0, index, x)`."""
        is_product = not found.gradient and name in listed("methods", "products")
        if not is_product and (found.gradient is not False or name not in _taking()):
            return False
        return self._any_gradient(call, scope)

    # -- modules --------------------------------------------------------------------------------------------------
    def _of_module(self, made: Result, call: ast.Call, scope: Scope) -> Traits:
        """What calling the module returns. What it is given is asked for only where that tells something: a network's
        inputs are what other parts of it make, and to go through all of them costs more than an evaluation may."""
        name = made.callee
        if not isinstance(name, str):
            chain = self.layers.sequence(made)
            learned = Traits(gradient=self.layers.learns(made) or None)
            return self._sequence(*chain, call, scope) if chain else learned
        if name == SEQUENCE:
            return self._sequence(made.node, made.scope, call, scope)
        learns = name not in listed("modules", "without_parameters") and self.layers.learns(made)
        if learns and name in ranks():
            return Traits(tensor=True, floating=True, gradient=True).ranked(ranks()[name])
        given = self._given(call, scope)
        gradient = True if learns else given.gradient
        found = Traits(tensor=True, floating=True, gradient=gradient)
        if name in ranks():
            return found.ranked(ranks()[name])
        if name == "torch.nn.Embedding":
            return given._replace(tensor=True, floating=True, gradient=learns).shifted(1, 1)
        if name in listed("modules", "same"):
            return given._replace(tensor=True, floating=True, gradient=gradient)
        return found._replace(tensor=None) if name in listed("modules", "tuples") else found

    def _given(self, call: ast.Call, scope: Scope) -> Traits:
        return self._read(call.args[0], scope) if call.args else UNKNOWN_TRAITS

    def _sequence(self, built: ast.Call, made_in: Scope, call: ast.Call, scope: Scope) -> Traits:
        """A chain of modules, the arguments of `built`: the last one that fixes the number of dimensions decides it."""
        found = Traits(tensor=True, floating=True, gradient=True)
        if not built.args or any(isinstance(a, ast.Starred) for a in built.args):
            return found
        ranks_after: set[int | None] = set()  # those that the last layers may give
        for layer in reversed(built.args):
            after = {self._rank_after(m) for m in self.layers.made(layer, made_in)} or {None}
            ranks_after |= after - {_AS_BEFORE}
            if _AS_BEFORE not in after:
                break
        else:
            given = self._given(call, scope)
            if not ranks_after:
                return found._replace(least=given.least, most=given.most)
            ranks_after.add(given.rank)
        rank = ranks_after.pop() if len(ranks_after) == 1 else None
        return found if rank is None else found.ranked(rank)

    def _rank_after(self, made: Result) -> int | None:
        forward = self.layers.forward(made)
        if forward is not None:
            return joined([self._read(value, forward) for value in forward.returns]).rank
        return _AS_BEFORE if made.callee in listed("modules", "same") else ranks().get(str(made.callee))


def hands_out(node: ast.expr) -> bool:
    """Whether a call gives a tensor that is there, or one that is made to have a gradient."""
    if not isinstance(node, ast.Call):
        return False
    name = last_name(node.func)
    is_given = name in listed("methods", "hands_out") or name.endswith("_")
    return is_given or any(k.arg == "requires_grad" for k in node.keywords)


def _is_frozen(parameter: ast.Call) -> bool:
    """`nn.Parameter(tensor, requires_grad=False)`"""
    given = [*parameter.args[1:2], *(k.value for k in parameter.keywords if k.arg == "requires_grad")]
    return any(isinstance(value, ast.Constant) and value.value is False for value in given)


@cache
def _taking() -> frozenset[str]:
    """The methods of a tensor without a gradient that have one by what they are given."""
    return listed("methods", "takes_in") | listed("methods", "writes_in")


@cache
def _differentiable() -> tuple[str, ...]:
    """What the names of other libraries' functions begin with through which a gradient flows."""
    return tuple(catalogue.table("tensors")["differentiable"]["prefixes"])


def ranks() -> dict[str, int]:
    """Functions and modules whose result has a fixed number of dimensions."""
    found: dict[str, int] = catalogue.table("tensors")["ranks"]
    return found


# -- lists of counts ---------------------------------------------------------------------------------------------------
def holds_counts(expr: ast.expr, scope: Scope) -> bool:
    """Whether `expr` is a list, or one of the lists of a table, to which only the numbers that `enumerate` counts in
    one loop are appended: to index a tensor by it names no place twice."""
    binding = _binding(expr, scope)
    if isinstance(expr, ast.Name) and binding is not None and binding.kind in ("loop", "unpack"):
        expr = binding.value or expr  # `for size, rows in table.items()`
    table = _root(expr)
    filled = [
        _is_count(call.args[0], where)
        for call, where in scope.facts.calls.get("append", ())
        if where.function is scope.function and table is not None and len(call.args) == 1 and _root(call.func) == table
    ]
    return bool(filled) and all(filled)


def _is_count(expr: ast.expr, scope: Scope) -> bool:
    """`i` in `for i, x in enumerate(xs)`."""
    binding = _binding(expr, scope)
    if binding is None or binding.path != (0,) or not isinstance(binding.value, ast.Call):
        return False
    return isinstance(binding.value.func, ast.Name) and binding.value.func.id == "enumerate"


def _binding(expr: ast.expr, scope: Scope) -> Binding | None:
    """The only binding of a name."""
    found = scope.bindings_of(expr)
    return found[0] if len(found) == 1 else None


def _root(expr: ast.expr) -> str | None:
    """`table` of `table.setdefault(key, []).append` and `table[key]`."""
    while not isinstance(expr, ast.Name):
        match expr:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Call(func=inner):
                expr = inner
            case _:
                return None
    return expr.id
