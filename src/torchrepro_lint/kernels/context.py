"""What runs a piece of code: training or evaluation, with gradients or without, or the loading of weights and data.

Reads the tests around a place, `with` blocks, decorators and framework hooks, and asks the callers of a function where
it says nothing itself; what names suggest comes last. Knows nothing of operations.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Literal, NamedTuple

from torchrepro_lint.dataflow import CallSite, Program, remembered
from torchrepro_lint.dataflow.binding import named_parameters
from torchrepro_lint.dataflow.conditions import Predicate, conditions
from torchrepro_lint.dataflow.enclosing import ancestors
from torchrepro_lint.dataflow.reaching_definitions import reads_of_binding
from torchrepro_lint.index import FunctionNode, Scope, last_name
from torchrepro_lint.kernels.layers import CALLED_UNSEEN, Layers
from torchrepro_lint.kernels.module_calls import module_calls
from torchrepro_lint.kernels.signatures import listed
from torchrepro_lint.project import roles
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.roles import Role
from torchrepro_lint.rng import predicates

MAX_CALLERS = 4  # functions between the code and the one that says what it is for
_OFF = frozenset({
    "torch.no_grad", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad",
    "torch.inference_mode", "torch.autograd.inference_mode",
})  # fmt: skip
_ON = frozenset({"torch.enable_grad", "torch.autograd.enable_grad", "torch.autograd.grad_mode.enable_grad"})
_SWITCHES = ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled")
_WRITTEN = ("no_grad", "inference_mode", "set_grad_enabled", "enable_grad")
_HOOKS = frozenset({"validation_step", "test_step", "predict_step", "validation_epoch_end", "test_epoch_end"})


_LEFT_OUT = frozenset({"torch.jit.ignore", "torch.jit.unused"})  # no part of what the scripted model computes
_ROLES: tuple[tuple[Predicate, bool, Role], ...] = (
    (predicates.training_mode, False, "evaluation"),
    (predicates.gradients, False, "evaluation"),
    (predicates.export, True, "evaluation"),
    (predicates.cpu, True, "cpu"),
    (predicates.older_release, True, "old"),
    (predicates.deterministic_kernels, True, "flag"),
)


class Context(NamedTuple):
    """`gradient` is False where none can flow; `role` is None for training, and where nothing is known."""

    gradient: bool | None
    role: Role | None

    @property
    def idle(self) -> bool:
        """Whether nothing that happens here can reach the weights."""
        return self.gradient is False or self.role is not None


class Named(NamedTuple):
    """A file, class or function whose name, or that of its parameters, says what it is for."""

    kind: Literal["file", "class", "function"]
    name: str
    role: Role


NOTHING = Context(None, None)
NO_GRADIENT = Context(False, None)
NAMED_AS_DATA = Context(None, "data")  # only names say so


def context(node: ast.AST, scope: Scope, program: Program, depth: int = 0) -> Context:
    """What is known of how `node` runs: by what surrounds it, by its functions, by their callers, and last by names."""
    functions = _functions(scope)
    found = Context(False if _is_without_gradient(node, scope, program) else None, _tested(node, scope))
    for function in functions:
        found = found if found.idle else _declared(function, program)
    if functions and not found.idle:
        found = _callers(functions[-1], depth, program)
    if found.role is None and (named := _by_name(scope, program)) is not None:
        program.store.decided_by_name(f"what a {named.kind} is for", (scope.facts.source.rel, named.name, named.role))
        return Context(found.gradient, named.role)
    at_import = not functions and not found.idle and not runs_backward(scope.function)
    return Context(None, "import") if at_import else found


def _functions(scope: Scope) -> list[Scope]:
    """The functions that code lies in, the innermost first."""
    found: list[Scope] = []
    function = scope.function
    while function.kind == "function":
        found.append(function)
        function = function.parent.function if function.parent is not None else scope.facts.scope
    return found


# -- blocks and tests -------------------------------------------------------------------------------------------
def _tested(node: ast.AST, scope: Scope) -> Role | None:
    """What the innermost test says that speaks of what runs the code."""
    for condition in conditions(node, scope):
        for says, answer, role in _ROLES:
            if says(condition.test) is (answer is condition.holds):
                return role
    return None


def _is_without_gradient(node: ast.AST, scope: Scope, program: Program) -> bool:
    integers, without = listed("methods", "integer"), listed("methods", "without_gradient")
    for block in ancestors(node, scope):
        match block:
            case ast.With() | ast.AsyncWith():
                mode = _mode(block, scope, program)
                if mode is not None:
                    return not mode
            case ast.Compare():
                return True
            case ast.Lambda() if _is_transform(block, scope, program):
                return True
            case ast.Attribute(attr=name) if name in without or name in integers:  # `logits.argmax(1)`, `mask.gt(0.5)`
                if scope.facts.call_of(block) is not None:
                    return True
            case ast.Assign(targets=[ast.Name(id=name)]) if (owner := scope.binding_scope(name)) is not None:
                reads = [scope.facts.parents[read.node] for read in reads_of_binding(name, owner, block)]
                if reads and all(isinstance(r, ast.Attribute) and r.attr in without for r in reads):
                    return True
    return False


def _is_transform(function: ast.Lambda, scope: Scope, program: Program) -> bool:
    """`transforms.Lambda(lambda image: ...)` is run on data, which need no gradient."""
    given = scope.facts.parents.get(function)
    name = program.qualified(given.func, scope) if isinstance(given, ast.Call) else None
    return name is not None and name.startswith("torchvision.transforms.")


def is_made_without_gradient(node: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether what is computed at a place is no part of a graph: its block, or its function, switches gradients off."""
    if scope.facts.calls.keys().isdisjoint(_WRITTEN):
        return False
    for block in ancestors(node, scope):
        mode = _mode(block, scope, program)
        if mode is not None:
            return not mode
    return False


def _mode(block: ast.AST, scope: Scope, program: Program) -> bool | None:
    """Whether a `with` block, or what a function is decorated with, switches gradients on or off, if any."""
    match block:
        case ast.With() | ast.AsyncWith():
            modes = [_switched(item.context_expr, scope, program) for item in reversed(block.items)]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            modes = [_switched(decorator, scope, program) for decorator in block.decorator_list]
        case _:
            return None
    return next((mode for mode in modes if mode is not None), None)


def _switched(expr: ast.expr, scope: Scope, program: Program) -> bool | None:
    call = expr if isinstance(expr, ast.Call) else None
    name = program.qualified(call.func if call is not None else expr, scope)
    first = program.literal(call.args[0], scope) if call is not None and call.args else None
    if name in _OFF:
        return None if first is False else False
    if name in _SWITCHES:
        return first if isinstance(first, bool) else None
    return True if name in _ON else None


# -- functions ----------------------------------------------------------------------------------------------------
@remembered
def _declared(function: Scope, program: Program) -> Context:
    """What a function's decorators and class say."""
    node, outer = function.node, function.parent or function
    if not isinstance(node, FunctionNode):
        return NOTHING
    if _mode(node, outer, program) is False:
        return NO_GRADIENT
    if any(program.qualified(decorator, outer) in _LEFT_OUT for decorator in function.decorators):
        return Context(None, "evaluation")
    for name in map(last_name, function.decorators):
        if roles.is_without_gradient(name):
            program.store.decided_by_name("what a decorator does", (function.facts.source.rel, function.name, name))
            return NO_GRADIENT
    bases = program.external_bases(outer) if outer.kind == "class" else []
    if any(base.endswith("autograd.Function") or base == "torch.autograd.function.Function" for base in bases):
        return NO_GRADIENT
    if node.name in _HOOKS and any("Lightning" in base for base in bases):
        return Context(False, "evaluation")
    return NOTHING


@remembered
def _by_name(scope: Scope, program: Program) -> Named | None:
    """What the names of the file, and of the functions and classes around a place, suggest."""
    facts = scope.facts
    role = roles.of_file(facts.source.rel, trains=bool(facts.calls.get("backward")))
    if role is not None:
        return Named("file", facts.source.rel, role)
    found = (_function_by_name(function, program) for function in _functions(scope))
    return next((named for named in found if named is not None), None)


def _function_by_name(function: Scope, program: Program) -> Named | None:
    node, owner = function.node, function.parent
    assert isinstance(node, FunctionNode) and owner is not None
    role = _class_by_name(owner, program) if owner.kind == "class" else None
    if role is not None:
        return Named("class", owner.name, role)
    role = roles.of_function(node.name, named_parameters(function)) if not runs_backward(function) else None
    if role == "evaluation" and roles.names_a_result(node.name) and _is_called_to_train(function, program):
        return None
    return Named("function", function.name, role) if role is not None else None


def _is_called_to_train(function: Scope, program: Program, depth: int = 0) -> bool:
    """Whether what runs a backward pass, or a module's `forward`, calls a function, itself or by others in the file."""
    for call, scope in _calls_nearby(function, program):
        caller = scope.function
        if caller.kind != "function" or caller is function or _is_without_gradient(call, scope, program):
            continue
        if caller.own_name in ("forward", "training_step") or runs_backward(caller):
            return True
        role = roles.of_function(caller.own_name, named_parameters(caller))
        if role is None and depth < MAX_CALLERS and _is_called_to_train(caller, program, depth + 1):
            return True
    return False


def _class_by_name(owner: Scope, program: Program) -> Role | None:
    bases = program.external_bases(owner)
    if any(base.startswith("torch.nn.") for base in bases):
        return None
    return roles.of_class([name.rpartition(".")[2] for name in (owner.name, *bases)])


def runs_backward(function: Scope) -> bool:
    """Whether the code of the function itself (or of the module) runs a backward pass."""
    return any(scope.function is function for _, scope in function.facts.calls.get("backward", ()))


@remembered
def _callers(function: Scope, depth: int, program: Program) -> Context:
    """What all known callers of a function agree on; those of a module's `forward` are the calls of its objects."""
    name = function.own_name
    if name == "forward" and depth < MAX_CALLERS and function.parent is not None:
        return _agreed({context(*site, program, depth + 1) for site in _calls_of_objects(function.parent, program)})
    if depth >= MAX_CALLERS or name in CALLED_UNSEEN or roles.is_training(name):
        return NOTHING
    near = {context(call, scope, program, depth + 1) for call, scope in _calls_nearby(function, program)}
    near.discard(Context(None, "import"))
    if any(not c.idle for c in near):
        return NOTHING  # one caller that may train is enough, and the project need not be searched
    calls = program.callers_of(function) or ()
    return _agreed(near | {context(call, scope, program, depth + 1) for call, scope in calls})


def _calls_of_objects(owner: Scope, program: Program) -> Sequence[CallSite]:
    """Those that say what the class is for: a test calls whatever there is."""
    if not Layers(program).is_module(owner):
        return ()
    return [site for site in module_calls(owner, program) or () if not is_test(site[1].facts)]


def _agreed(found: set[Context]) -> Context:
    """What several callers agree on; what runs at import counts for none."""
    found.discard(Context(None, "import"))
    if not found or not all(c.idle for c in found):
        return NOTHING
    named = sorted({c.role for c in found if c.role is not None})
    return Context(None, named[0]) if all(c.role for c in found) else NO_GRADIENT


def is_part_of_forward(scope: Scope, program: Program) -> bool:
    """Whether code lies in a method that the `forward` of its own module calls, whatever the method's name says."""
    functions = _functions(scope)
    owner = functions[-1].parent if functions else None
    if owner is None or not Layers(program).is_module(owner):
        return False
    return any(caller.function.own_name == "forward" for _, caller in _calls_nearby(functions[-1], program))


def _calls_nearby(function: Scope, program: Program) -> list[CallSite]:
    """The calls in the same file: by name, or on `self` (also of a static method)."""
    owner = function.parent if function.parent is not None and function.parent.kind == "class" else None
    found: list[CallSite] = []
    for call, scope in function.facts.calls.get(function.own_name, ()):
        match call.func:
            case ast.Attribute(value=holder) if scope.is_self(holder):
                found += [(call, scope)] if owner is not None and scope.method_class is owner else []
            case ast.Name() as name if program.resolve(name, scope) is function:
                found.append((call, scope))
    return found
