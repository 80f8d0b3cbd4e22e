"""What runs a piece of code: training or evaluation, with gradients or without, or the loading of weights and data.

Reads decorators, `with` blocks, branches on `self.training`, framework hooks and names, and asks the callers of a
function where it says nothing itself. Knows nothing of operations.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchrepro_lint.dataflow.enclosing import ancestors, arm_of, parent
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.store import remembered
from torchrepro_lint.index import FunctionNode, Scope
from torchrepro_lint.kernels.layers import CALLED_UNSEEN
from torchrepro_lint.kernels.signatures import listed
from torchrepro_lint.project import roles
from torchrepro_lint.project.roles import Role

MAX_CALLERS = 4  # functions between the code and the one that says what it is for
_OFF = frozenset({
    "torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad",
    "torch.inference_mode", "torch.autograd.inference_mode",
})  # fmt: skip
_SWITCHES = ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
_HOOKS = frozenset({"validation_step", "test_step", "predict_step", "validation_epoch_end", "test_epoch_end"})


_LEFT_OUT = frozenset({"torch.jit.ignore", "torch.jit.unused"})  # no part of what the scripted model computes
_EXPORTING = frozenset({"is_scripting", "is_tracing", "is_exporting", "is_in_onnx_export"})
_EXPORTED_TO = frozenset({"coreml", "onnx", "openvino", "tensorrt", "tflite", "torchscript"})
_OPERATORS = ("custom_op", "triton_op")  # their bodies run below autograd, whose formula is registered apart


class Context(NamedTuple):
    """`gradient` is False where none can flow; `role` is None for training, and where nothing is known."""

    gradient: bool | None
    role: Role | None

    @property
    def idle(self) -> bool:
        """Whether nothing that happens here can reach the weights."""
        return self.gradient is False or self.role is not None


NOTHING = Context(None, None)
NO_GRADIENT = Context(False, None)


def context(node: ast.AST, scope: Scope, program: Program, depth: int = 0) -> Context:
    """What is known of how `node` runs."""
    trains = bool(scope.facts.calls.get("backward"))
    if (role := roles.of_file(scope.facts.source.rel, trains=trains)) is not None:
        return Context(None, role)
    found = _blocks(node, scope, program)
    function = scope.function
    while not found.idle and function.kind == "function":
        found = _function(function, program)
        outer = function.parent.function if function.parent is not None else function
        if outer.kind != "function":
            break
        function = outer
    if found.idle:
        return found
    if function.kind == "module":
        return NOTHING if _runs_backward(function) else Context(None, "import")
    return _callers(function, depth, program)


# -- blocks -----------------------------------------------------------------------------------------------------
def _blocks(node: ast.AST, scope: Scope, program: Program) -> Context:
    """`with torch.no_grad():` and the arms of `if self.training:` around `node`, within its function."""
    child: ast.AST = node
    for block in ancestors(node, scope):
        match block:
            case ast.With() | ast.AsyncWith():
                if any(_switches_off(item.context_expr, scope, program) for item in block.items):
                    return NO_GRADIENT
            case ast.If(test=test) if child is not test:
                in_body = child in block.body
                if _in_evaluation_arm(test, in_body):
                    return Context(None, "evaluation")
                if in_body and _for_older_releases(test):
                    return Context(None, "old")
                if (where := _elsewhere(test, in_body)) is not None:
                    return Context(None, where)
            case ast.IfExp(test=test) if child is not test and _in_evaluation_arm(test, child is block.body):
                return Context(None, "evaluation")
            case ast.Compare():
                return NO_GRADIENT
            case ast.Attribute(attr=name) if name in _without_gradient() and _is_called(block, scope):
                return NO_GRADIENT
        if isinstance(child, ast.stmt) and _left_in_training(child, block):
            return Context(None, "evaluation")
        child = block
    return NOTHING


def _switches_off(expr: ast.expr, scope: Scope, program: Program) -> bool:
    call = expr if isinstance(expr, ast.Call) else None
    name = program.qualified(call.func if call is not None else expr, scope)
    first = program.literal(call.args[0], scope) if call is not None and call.args else None
    return (name in _OFF and first is not False) or (name in _SWITCHES and first is False)


def _name_of(decorator: ast.expr, scope: Scope, program: Program) -> str | None:
    return program.qualified(decorator.func if isinstance(decorator, ast.Call) else decorator, scope)


def _says_off(decorator: ast.expr) -> bool:
    """A decorator that is called after what it does: `@smart_inference_mode()`, `@custom_op("mylib::attend")`."""
    written = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = written.attr if isinstance(written, ast.Attribute) else getattr(written, "id", "")
    return name.endswith(("_inference_mode", "_no_grad", *_OPERATORS))


def _asks_for_training(test: ast.expr) -> bool | None:
    """Whether the test asks for training mode (True), for evaluation mode (False), or for neither."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            asked = _asks_for_training(inner)
            return None if asked is None else not asked
        case ast.Attribute(attr="training") | ast.Name(id="training"):
            return True
        case ast.Call(func=ast.Attribute(attr="is_grad_enabled")):
            return True
    return None


def _without_gradient() -> frozenset[str]:
    """Methods of a tensor that pass no gradient on: `logits.argmax(1)`, `mask.gt(0.5)`."""
    return listed("methods", "integer") | listed("methods", "without_gradient")


def _is_called(function: ast.expr, scope: Scope) -> bool:
    holder = parent(function, scope)
    return isinstance(holder, ast.Call) and holder.func is function


def _elsewhere(test: ast.expr, in_body: bool) -> Role | None:
    """Whether the arm runs on the CPU, in a model that is exported, or where the program has asked which algorithms
    it runs under."""
    tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and in_body else [test]
    for part in tests:
        match part:
            case ast.Compare(left=ast.Attribute(attr="type"), ops=[op], comparators=[ast.Constant(value="cpu")]):
                if isinstance(op, ast.Eq) is in_body:
                    return "cpu"
            case ast.Compare(ops=[ast.Eq()], comparators=[ast.Constant(value=str() as target)]) if in_body:
                if target in _EXPORTED_TO:
                    return "evaluation"
            case ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(attr="is_cuda")) if in_body:
                return "cpu"
            case ast.Attribute(attr="is_cuda") if not in_body:
                return "cpu"
            case ast.Call(func=ast.Attribute(attr="are_deterministic_algorithms_enabled")) if in_body:
                return "flag"
            case ast.Call(func=ast.Attribute(attr=name)) if name in _EXPORTING and in_body:
                return "evaluation"
    return None


def _in_evaluation_arm(test: ast.expr, in_body: bool) -> bool:
    if isinstance(test, ast.BoolOp):  # `not self.training and x`: true only in evaluation, false in either
        asked = [_asks_for_training(value) for value in test.values]
        return in_body and isinstance(test.op, ast.And) and False in asked
    wanted = _asks_for_training(test)
    return wanted is not None and wanted != in_body


def _left_in_training(statement: ast.stmt, block: ast.AST) -> bool:
    """Whether an earlier `if self.training: ... return` keeps training away from `statement`."""
    name = arm_of(block, statement)
    arm: list[ast.stmt] = getattr(block, name) if name is not None else []
    for earlier in arm[: arm.index(statement)] if arm else ():
        if isinstance(earlier, ast.If) and (wanted := _asks_for_training(earlier.test)) is not None:
            leaving = earlier.body if wanted else earlier.orelse
            if leaving and isinstance(leaving[-1], ast.Return | ast.Raise):
                return True
    return False


def _for_older_releases(test: ast.expr) -> bool:
    """`version.parse(torchvision.__version__) < version.parse("0.7")`: not the release that runs today."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Lt | ast.LtE)):
        return False
    return any(isinstance(n, ast.Attribute) and n.attr == "__version__" for n in ast.walk(test.left))


# -- functions ----------------------------------------------------------------------------------------------------
@remembered
def _function(function: Scope, program: Program) -> Context:
    """What a function's own name, decorators, parameters and class say."""
    node = function.node
    if not isinstance(node, FunctionNode):
        return NOTHING
    if any(_says_off(d) or _switches_off(d, function.parent or function, program) for d in node.decorator_list):
        return Context(False, _named(node))
    if any(_name_of(d, function.parent or function, program) in _LEFT_OUT for d in node.decorator_list):
        return Context(None, "evaluation")
    owner = function.parent if function.parent is not None and function.parent.kind == "class" else None
    found = _method(node.name, owner, program) if owner is not None else NOTHING
    return found if found.idle or _runs_backward(function) else Context(None, _named(node))


def _named(function: FunctionNode) -> Role | None:
    """What a function is for, by its name and those of its parameters."""
    arguments = function.args
    parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return roles.of_function(function.name, parameters)


def _method(name: str, owner: Scope, program: Program) -> Context:
    """What the class of a method says about it."""
    bases = program.external_bases(owner)
    if any(b.endswith("autograd.Function") or b == "torch.autograd.function.Function" for b in bases):
        return NO_GRADIENT
    if name in _HOOKS and any("Lightning" in b for b in bases):
        return Context(False, "evaluation")
    if any(b.startswith("torch.nn.") for b in bases):
        return NOTHING
    return Context(None, roles.of_class([n.rpartition(".")[2] for n in (owner.name, *bases)]))


def _runs_backward(function: Scope) -> bool:
    """Whether the code of the function itself (or of the module) runs a backward pass."""
    return any(scope.function is function for _, scope in function.facts.calls.get("backward", ()))


@remembered
def _callers(function: Scope, depth: int, program: Program) -> Context:
    """What all known callers of a function agree on; a module's `forward` has callers that nobody sees."""
    name = function.name.rpartition(".")[2]
    if depth >= MAX_CALLERS or name in CALLED_UNSEEN or "train" in name:  # a trainer nobody sees calls `train_step`
        return NOTHING
    near = {context(call, scope, program, depth + 1) for call, scope in _calls_nearby(function, program)}
    near.discard(Context(None, "import"))
    if any(not c.idle for c in near):
        return NOTHING  # one caller that may train is enough, and the project need not be searched
    calls = program.callers_of(function) or ()
    found = near | {context(call, scope, program, depth + 1) for call, scope in calls}
    found.discard(Context(None, "import"))
    if not found or not all(c.idle for c in found):
        return NOTHING
    named = sorted({c.role for c in found if c.role is not None})
    return Context(None, named[0]) if all(c.role for c in found) else NO_GRADIENT


def _calls_nearby(function: Scope, program: Program) -> list[tuple[ast.Call, Scope]]:
    """The calls in the same file: by name, or on `self` (also of a static method)."""
    owner = function.parent if function.parent is not None and function.parent.kind == "class" else None
    found: list[tuple[ast.Call, Scope]] = []
    for call, scope in function.facts.calls.get(function.name.rpartition(".")[2], ()):
        if isinstance(call.func, ast.Attribute) and scope.is_self(call.func.value):
            if owner is not None and scope.method_class is owner:
                found.append((call, scope))
        elif isinstance(call.func, ast.Name) and program.resolve(call.func, scope) is function:
            found.append((call, scope))
    return found
