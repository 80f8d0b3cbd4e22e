"""What runs a piece of code: training or evaluation, with gradients or without, or the loading of weights and data.

Reads decorators, `with` blocks, branches on `self.training`, framework hooks and names, and asks the callers of a
function where it says nothing itself. Knows nothing of operations.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from pathlib import PurePath
from typing import Literal, NamedTuple

from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope
from torchrepro_lint.program.calls import UNKNOWN
from torchrepro_lint.program.determinism import turned_on
from torchrepro_lint.program.program import Module, Program

Role = Literal["evaluation", "loading", "data", "import", "old"]
Flag = Literal["strict", "lenient"]
MAX_CALLERS = 3
MAX_FILES = 40
_OFF = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad", "torch.autograd.grad_mode.no_grad",
                  "torch.autograd.inference_mode"})  # fmt: skip
_HOOKS = frozenset({"validation_step", "test_step", "predict_step", "validation_epoch_end", "test_epoch_end"})
_EVALUATION = re.compile(
    r"^_*(?:eval|evaluate|evaluation|validate|validation|val|test|predict|infer|inference|visuali[sz]e|plot|draw|demo"
    r"|export|post_?process|generate|on_(?:validation|test|predict))(?:_|$)|_(?:inference|eval)$"
)
_LOADING = re.compile(r"^_*(?:load|convert|from_pretrained|remap|checkpoint_filter)|state_dict|checkpoint|pretrained")
_LOADED = re.compile(r"^(?:state_dict|checkpoint|checkpoint_model|ckpt|sd|state|pretrained)$")
_DATA = re.compile(r"^_*(?:__getitem__|collate|preprocess|augment|transform|load_(?:image|audio|video|data)|read)")
_DATA_CLASS = re.compile(r"(?:Dataset|DataModule|Collat\w*|Transform|Transforms|Processor|Sampler|Augment\w*|ImageProcessor\w*|FeatureExtractor)$")
_TEST_FILE = re.compile(r"^(?:test_|conftest|eval|inference|infer_|demo|predict|visuali[sz]e|export|convert_)|_test$")
_DATA_FOLDERS = frozenset({"transforms", "datasets", "dataset", "data", "dataloaders", "preprocessing", "augmentation",
                           "augmentations"})  # fmt: skip


class Context(NamedTuple):
    """`gradient` is False where none can flow; `role` is None for training, or for what nothing is known of."""

    gradient: bool | None
    role: Role | None

    @property
    def idle(self) -> bool:
        """Whether nothing that happens here can reach the weights."""
        return self.gradient is False or self.role is not None


NOTHING = Context(None, None)


def context(node: ast.AST, scope: Scope, program: Program, depth: int = 0) -> Context:
    """What is known of how `node` runs."""
    facts = scope.facts
    if (role := _file_role(facts)) is not None:
        return Context(None, role)
    found = _blocks(facts, node, scope, program)
    if found.idle:
        return found
    function = scope.function
    while function.kind == "function":
        found = _function(function, program)
        if found.idle:
            return found
        if function.parent is None or function.parent.function.kind != "function":
            break
        function = function.parent.function
    if function.kind == "module":
        return NOTHING if _trains_here(facts, function) else Context(None, "import")
    return _callers(function, program, depth)


def _blocks(facts: ModuleFacts, node: ast.AST, scope: Scope, program: Program) -> Context:
    """`with torch.no_grad():` and the arms of `if self.training:` around `node`, in any function around it."""
    child: ast.AST = node
    for parent in facts.ancestors(node):
        match parent:
            case ast.With() | ast.AsyncWith():
                if any(_switches_off(item.context_expr, scope, program) for item in parent.items):
                    return Context(False, None)
            case ast.If(test=test) if child is not test:
                if _in_evaluation_arm(test, child in parent.body):
                    return Context(None, "evaluation")
                if child in parent.body and _for_older_releases(test):
                    return Context(None, "old")
            case ast.IfExp(test=test) if child is not test and _in_evaluation_arm(test, child is parent.body):
                return Context(None, "evaluation")
        if isinstance(child, ast.stmt) and _left_in_training(facts, child, parent):
            return Context(None, "evaluation")
        if isinstance(parent, FunctionNode):
            break
        child = parent
    return NOTHING


def _switches_off(expr: ast.expr, scope: Scope, program: Program) -> bool:
    call = expr if isinstance(expr, ast.Call) else None
    name = program.qualified(call.func if call is not None else expr, scope)
    if name in _OFF:
        return call is None or not call.args or program.literal(call.args[0], scope) is not False
    if name in ("torch.set_grad_enabled", "torch.autograd.set_grad_enabled") and call is not None and call.args:
        return program.literal(call.args[0], scope) is False
    return False


def _training_test(test: ast.expr) -> bool | None:
    """Whether the test asks for training mode (True), for evaluation mode (False), or for neither."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            asked = _training_test(inner)
            return None if asked is None else not asked
        case ast.Attribute(attr="training") | ast.Name(id="training"):
            return True
        case ast.Call(func=ast.Attribute(attr="is_grad_enabled")):
            return True
        case ast.BoolOp(op=ast.And(), values=values):
            found = [asked for value in values if (asked := _training_test(value)) is not None]
            return False if False in found else None
    return None


def _in_evaluation_arm(test: ast.expr, in_body: bool) -> bool:
    asked = _training_test(test)
    if isinstance(test, ast.BoolOp):
        return asked is False and in_body
    return asked is not None and asked != in_body


def _for_older_releases(test: ast.expr) -> bool:
    """`version.parse(torchvision.__version__) < version.parse("0.7")`: not the release that runs today."""
    if not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Lt | ast.LtE)):
        return False
    return any(isinstance(n, ast.Attribute) and n.attr == "__version__" for n in ast.walk(test.left))


def _left_in_training(facts: ModuleFacts, statement: ast.stmt, block: ast.AST) -> bool:
    """Whether an earlier `if self.training: ... return` keeps training away from `statement`."""
    for name in ("body", "orelse", "finalbody"):
        arm = getattr(block, name, None)
        if not isinstance(arm, list) or statement not in arm:
            continue
        for earlier in arm[: arm.index(statement)]:
            if isinstance(earlier, ast.If) and not isinstance(earlier.test, ast.BoolOp):
                asked = _training_test(earlier.test)
                leaving = earlier.body if asked else earlier.orelse if asked is False else []
                if leaving and isinstance(leaving[-1], ast.Return | ast.Raise):
                    return True
    return False


@lru_cache(maxsize=512)
def _function(function: Scope, program: Program) -> Context:
    """What a function's own name, decorators, parameters and class say."""
    node = function.node
    if not isinstance(node, FunctionNode):
        return NOTHING
    if any(_switches_off(d, function.parent or function, program) for d in node.decorator_list):
        return Context(False, None)
    name = node.name
    owner = function.parent if function.parent is not None and function.parent.kind == "class" else None
    if owner is not None:
        bases = program.external_bases(owner)
        if any(b.endswith("autograd.Function") or b == "torch.autograd.Function" for b in bases):
            return Context(False, None)
        if name in _HOOKS and any("Lightning" in b for b in bases):
            return Context(False, "evaluation")
        if _is_data(owner, bases):
            return Context(None, "data")
    if _takes_steps(function):
        return NOTHING
    if _EVALUATION.search(name):
        return Context(None, "evaluation")
    parameters = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    if _LOADING.search(name) or any(_LOADED.match(p) for p in parameters):
        return Context(None, "loading")
    return Context(None, "data") if _DATA.search(name) else NOTHING


def _is_data(owner: Scope, bases: list[str]) -> bool:
    is_module = any(b.startswith("torch.nn.") for b in bases)
    named = [owner.name.rpartition(".")[2], *(b.rpartition(".")[2] for b in bases)]
    return not is_module and any(_DATA_CLASS.search(n) for n in named)


def _takes_steps(function: Scope) -> bool:
    """Whether the function itself runs a backward pass."""
    return any(scope.function is function for _, scope in function.facts.calls.get("backward", ()))


def _trains_here(facts: ModuleFacts, module: Scope) -> bool:
    return any(scope.function is module for _, scope in facts.calls.get("backward", ()))


def _callers(function: Scope, program: Program, depth: int) -> Context:
    """What all known callers of a function agree on; a module's `forward` has callers that nobody sees."""
    name = function.name.rpartition(".")[2]
    if depth >= MAX_CALLERS or name in ("forward", "__call__", "__init__", "training_step", "main"):
        return NOTHING
    calls = program.callers_of(function)
    found = {context(call, scope, program, depth + 1) for call, scope in calls or ()}
    found.discard(Context(None, "import"))
    if not found or not all(c.idle for c in found):
        return NOTHING
    return found.pop() if len(found) == 1 else Context(None, next((c.role for c in sorted(found, key=str) if c.role), "evaluation"))


def _file_role(facts: ModuleFacts) -> Role | None:
    """Tests and evaluation scripts by their names."""
    path = PurePath(facts.source.rel)
    if "tests" in path.parts or "test" in path.parts[:-1] or _TEST_FILE.search(path.stem):
        return None if facts.calls.get("backward") and not path.stem.startswith(("test_", "conftest")) else "evaluation"
    return None


def handles_data(scope: Scope) -> bool:
    """Whether the code lies where a project prepares its data, outside any module with parameters."""
    return bool(_DATA_FOLDERS & set(PurePath(scope.facts.source.rel).parts[:-1]))


def requested(module: Module, program: Program) -> Flag | None:
    """Whether this project turns deterministic algorithms on, strictly or with warnings only."""
    words = ("use_deterministic_algorithms", "set_deterministic_debug_mode")
    paths = {str(p) for word in words for p in program.text.mentioning(word) or ()} | {module.facts.source.path.__str__()}
    flags = {flag for path in sorted(paths)[:MAX_FILES] if (facts := program.load(path)) and (flag := _flag_in(facts, program))}
    return "strict" if "strict" in flags else "lenient" if flags else None


@lru_cache(maxsize=128)
def _flag_in(facts: ModuleFacts, program: Program) -> Flag | None:
    flags: set[Flag] = set()
    for setting, _ in turned_on(program.module(facts)):
        call = setting.call
        warn = next((k.value for k in call.keywords if k.arg == "warn_only"), None) if call is not None else None
        only_warns = warn is not None and program.literal(warn, setting.scope) in (True, UNKNOWN)
        only_warns = only_warns or program.literal(setting.value, setting.value_scope) in ("warn", 1)
        flags.add("lenient" if only_warns else "strict")
    return "strict" if "strict" in flags else "lenient" if flags else None
