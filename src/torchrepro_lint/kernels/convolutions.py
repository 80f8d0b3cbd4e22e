"""Whether a program runs kernels whose choice cuDNN or the attention backend makes: convolutions, fused attention.

Reads the files that the program runs or names; models that a library builds count as convolutional.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope

_LAYERS = frozenset(
    f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "LazyConv", "LazyConvTranspose") for n in (1, 2, 3)
)
_FUNCTIONS = frozenset(f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)) | {
    "scaled_dot_product_attention"
}
_MODELS = (
    r"\btorchvision\.models\b|\bfrom torchvision import [^\n]*\bmodels\b|\b(?:import|from) timm\b"
    r"|segmentation_models_pytorch"
)
_DOTTED = r"[a-zA-Z_]\w*(?:\.\w+)+"
_OTHER_LAYERS = ("Linear", "Embedding", "LSTM", "GRU", "LayerNorm", "BatchNorm1d", "BatchNorm2d")
MAX_FILES = 64
_GPU = r"(?i)cuda|accelerat|gpu"


def uses_gpu(files: Iterable[ModuleFacts]) -> bool:
    """Whether any of the files speaks of a GPU."""
    return any(re.search(_GPU, facts.source.text) for facts in files)


def first_kernel(files: Iterable[ModuleFacts], program: Program) -> tuple[ast.AST, Scope] | None:
    """The first convolution or fused attention in the files, or the import of a library of models."""
    files = list(files)
    for facts in chain(files, _named_in(files, program)):
        for node, scope in _calls(facts, program):
            return node, scope
        if re.search(_MODELS, facts.source.text):
            imported = (b.node for b in facts.imports if b.target.partition(".")[0] in _LIBRARIES)
            found = next(imported, None)
            if found is not None:
                return found, facts.scope
    return None


def imported_kernel(visited: Iterable[ModuleFacts], program: Program) -> tuple[ast.AST, Scope] | None:
    """The first one in the files that a program only imports, where it runs no layer in sight: a registry makes the
    model."""
    visited = list(visited)
    if any(_layers(facts, program) for facts in visited):
        return None
    paths = {path for facts in visited[:1] for path in program.project.reachable(facts.source.path)}
    packages = {path.parent / "__init__.py" for path in paths if path.parent.joinpath("__init__.py").is_file()}
    paths = {path for start in packages for path in program.project.reachable(start)}.union(paths)
    files = (program.load(str(path)) for path in sorted(paths)[:MAX_FILES])
    return first_kernel([facts for facts in files if facts is not None], program)


def _layers(facts: ModuleFacts, program: Program) -> bool:
    return any(
        (program.callee(call, scope) or "").startswith("torch.nn.")
        for name in _OTHER_LAYERS
        for call, scope in facts.calls.get(name, ())
    )


def _named_in(files: Iterable[ModuleFacts], program: Program) -> Iterator[ModuleFacts]:
    """The files of the project that others name in a text, as `class_name="training.networks.UNet"` does."""
    for facts in files:
        texts = (n.value for n in ast.walk(facts.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        for text in dict.fromkeys(t for t in texts if re.fullmatch(_DOTTED, t)):
            found = program.project.finder.find(text, 0, str(facts.source.path))
            named = program.load(found[0]) if found is not None and found[1] else None
            if named is not None:
                yield named


_LIBRARIES = frozenset({"torchvision", "timm", "segmentation_models_pytorch"})


def _calls(facts: ModuleFacts, program: Program) -> Iterator[tuple[ast.Call, Scope]]:
    for name in sorted(_LAYERS | _FUNCTIONS):
        for call, scope in facts.calls.get(name, ()):
            package = "torch.nn." if name in _LAYERS else "torch."
            if (program.callee(call, scope) or "").startswith(package):
                yield call, scope
