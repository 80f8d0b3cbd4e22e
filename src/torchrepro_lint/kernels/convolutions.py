"""Whether a program runs kernels whose choice cuDNN or the attention backend makes: convolutions, fused attention.

Reads the files that the program runs or names, also those that a name may lead to which only the run knows:
`eval(args.model).Net()`. Models that a library builds count as convolutional.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from torchrepro_lint.dataflow import CallSite, NodeSite, Program, remembered
from torchrepro_lint.dataflow.dynamic_lookup import picked
from torchrepro_lint.index import ModuleFacts, descendants, last_name
from torchrepro_lint.project.disk import exists, modules_in

_LAYERS = {f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "LazyConv", "LazyConvTranspose") for n in (1, 2, 3)}
_ATTENTION = "scaled_dot_product_attention"
_ATTENDING = ("TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")
_MAY_ATTEND = ("MultiheadAttention", "multi_head_attention_forward")
_WITHOUT_WEIGHTS = r"\bneed_weights\s*=\s*False\b"  # those that are asked for their weights work them out by products
_FUNCTIONS = {*(f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)), _ATTENTION}
_MODELS = (
    r"\btorchvision\.models\b|\bfrom torchvision import [^\n]*\bmodels\b|\b(?:import|from) timm\b"
    r"|segmentation_models_pytorch"
)
_LIBRARIES = frozenset({"torchvision", "timm", "segmentation_models_pytorch"})
_DOTTED = r"[a-zA-Z_]\w*(?:\.\w+)+"
_QUOTED = rf"""["']{_DOTTED}["']"""
_OTHER_LAYERS = ("Linear", "linear", "Embedding", "LSTM", "GRU", "LayerNorm", "BatchNorm1d", "BatchNorm2d")
MAX_FILES = 64
MAX_CHOSEN = 60
_HINTS = ("eval(", "getattr(", "__dict__[", "vars(", "import_module(")


def kernels(files: Iterable[ModuleFacts], program: Program) -> Iterator[NodeSite]:
    """The convolutions and fused attentions in the files, and the imports of libraries of models."""
    files = list(files)
    named = program.loaded(path for file in files for path in _named_in(file, program))
    return (found for facts in chain(files, named) for found in _kernels_in(facts, program))


def is_attention(site: NodeSite) -> bool:
    """Whether it is a fused attention, which is no matter of cuDNN's."""
    return isinstance(site[0], ast.Call) and last_name(site[0].func) in (_ATTENTION, *_ATTENDING, *_MAY_ATTEND)


def attending(files: Iterable[ModuleFacts], program: Program) -> Iterator[CallSite]:
    """The layers in the files whose attention is fused."""
    return (found for facts in files for found in _attending_in(facts, program))


@remembered
def _attending_in(facts: ModuleFacts, program: Program) -> tuple[CallSite, ...]:
    may_attend = any(name in facts.calls for name in _MAY_ATTEND) and facts.source.matches(_WITHOUT_WEIGHTS)
    names = (*_ATTENDING, *(_MAY_ATTEND if may_attend else ()))
    sites = (site for name in names for site in facts.calls.get(name, ()))
    return tuple(site for site in sites if (program.callee(*site) or "").startswith("torch.nn."))


@remembered
def _kernels_in(facts: ModuleFacts, program: Program) -> tuple[NodeSite, ...]:
    called = tuple(_calls(facts, program))
    is_named = not called and any(facts.source.matches(re.escape(library)) for library in _LIBRARIES)
    if is_named and facts.source.matches(_MODELS):
        imported = (b.node for b in facts.imports if b.target.partition(".")[0] in _LIBRARIES)
        return tuple((node, facts.scope) for node in imported)
    return called


def imported_kernels(
    visited: Iterable[ModuleFacts], runs: Callable[[NodeSite], bool], program: Program
) -> Iterator[NodeSite]:
    """Those in the files that a program only imports, where it runs no layer in sight: a registry makes the model."""
    visited = list(visited)
    if any(runs(site) for facts in visited for site in _layers(facts, program)):
        return iter(())
    paths = {path for facts in visited[:1] for path in program.project.reachable(facts.source.path)}
    root = program.project.root
    folders = {folder for path in paths for folder in path.parents if folder.is_relative_to(root)}  # each is run first
    fronts = {folder / "__init__.py" for folder in folders}
    packages = [front for front in sorted(fronts) if program.project.disk(exists, str(front))]
    paths = {path for start in packages for path in program.project.reachable(start)}.union(paths)
    return kernels(program.loaded(sorted(paths)[:MAX_FILES]), program)


def _layers(facts: ModuleFacts, program: Program) -> Iterator[CallSite]:
    sites = (site for name in _OTHER_LAYERS for site in facts.calls.get(name, ()))
    return (site for site in sites if (program.callee(*site) or "").startswith("torch.nn."))


@remembered
def _named_in(facts: ModuleFacts, program: Program) -> tuple[str, ...]:
    """The files of the project that a file names in a text, as `class_name="training.networks.UNet"` does."""
    if not facts.source.matches(_QUOTED):
        return ()
    constants = (n.value for n in descendants(facts.tree) if isinstance(n, ast.Constant))
    texts = dict.fromkeys(c for c in constants if isinstance(c, str) and re.fullmatch(_DOTTED, c))
    found = (program.project.finder.find(text, 0, str(facts.source.path)) for text in texts)
    return tuple(place[0] for place in found if place is not None and place[1])


def _calls(facts: ModuleFacts, program: Program) -> Iterator[CallSite]:
    for name in sorted(_LAYERS | _FUNCTIONS):
        for call, scope in facts.calls.get(name, ()):
            package = "torch.nn." if name in _LAYERS else "torch."
            if (program.callee(call, scope) or "").startswith(package):
                yield call, scope


# -- files that are chosen by name -------------------------------------------------------------------------------------
@remembered
def looks_up(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file looks up what it makes by a name that may be made up at run time."""
    if any(isinstance(call.func, ast.Name) for call, _ in facts.calls.get("eval", ())):
        return True
    if facts.calls.get("import_module") or facts.calls.get("locals"):
        return True
    if not any(facts.source.matches(re.escape(hint)) for hint in (*_HINTS, "globals(")):
        return False
    looked_up = (n for n in descendants(facts.tree) if isinstance(n, ast.Call | ast.Subscript))
    return any(picked(node, facts.scope_of(node), program) is not None for node in looked_up)


def files_chosen_by_name(files: Iterable[ModuleFacts], program: Program) -> Iterator[ModuleFacts]:
    """The files that names which are made up at run time may lead to."""
    paths = dict.fromkeys(path for facts in files for path in _chosen_in(facts, program))
    return program.loaded(list(paths)[:MAX_CHOSEN])


@remembered
def _chosen_in(facts: ModuleFacts, program: Program) -> tuple[str, ...]:
    return tuple(_found_in(facts, program))


def _found_in(facts: ModuleFacts, program: Program) -> Iterator[str]:
    if not any(facts.source.matches(re.escape(hint)) for hint in _HINTS):
        return
    for node in descendants(facts.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"), args=[name, *_]):
                yield from _in_package(_beginning(name), facts, program)
            case ast.Call(func=ast.Call() as made) | ast.Call(func=ast.Attribute(value=ast.Call() as made)):
                if isinstance(made.func, ast.Name) and made.func.id == "eval":
                    for path in sorted(program.project.imported(facts.source.path)):
                        yield from _with_imported(path, program)
        pick = picked(node, facts.scope_of(node), program) if isinstance(node, ast.Call | ast.Subscript) else None
        if pick is not None and pick.module is not facts.scope:
            yield from _with_imported(str(pick.module.facts.source.path), program)


def _with_imported(path: str, program: Program) -> Iterator[str]:
    """A file, and those that it imports: a package's `__init__` has its models from others."""
    yield path
    yield from sorted(program.project.imported(Path(path)))


def _in_package(name: str, facts: ModuleFacts, program: Program) -> Iterator[str]:
    """The files of a package of the project."""
    found = program.project.finder.find(name, 0, str(facts.source.path)) if name else None
    if found is None or found[1]:
        return
    folder = Path(found[0])
    folder = folder.parent if folder.name == "__init__.py" else folder
    yield from program.project.disk(modules_in, str(folder))


def _beginning(name: ast.expr) -> str:
    """What a made-up name begins with for certain, up to its last dot: "models" of `"models." + arch`."""
    match name:
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=ast.Constant(value=str() as text)):
            known = text.partition("%")[0]
        case ast.JoinedStr(values=[ast.Constant(value=str() as text), *_]):
            known = text
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str() as text), attr="format")):
            known = text.partition("{")[0]
        case _:
            return ""
    return known.rpartition(".")[0]
