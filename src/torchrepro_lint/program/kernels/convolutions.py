"""Whether a program runs kernels whose choice cuDNN or the attention backend makes: convolutions, fused attention.

Reads the files that the program runs; models that a library builds count as convolutional.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.program.program import Program

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
_GPU = r"(?i)cuda|accelerat|gpu"


def uses_gpu(files: Iterable[ModuleFacts]) -> bool:
    """Whether any of the files speaks of a GPU."""
    return any(re.search(_GPU, facts.source.text) for facts in files)


def first_kernel(files: Iterable[ModuleFacts], program: Program) -> tuple[ast.AST, Scope] | None:
    """The first convolution or fused attention in the files, or the import of a library of models."""
    for facts in files:
        for node, scope in _calls(facts, program):
            return node, scope
        if re.search(_MODELS, facts.source.text):
            imported = (b.node for b in facts.imports if b.target.partition(".")[0] in _LIBRARIES)
            found = next(imported, None)
            if found is not None:
                return found, facts.scope
    return None


_LIBRARIES = frozenset({"torchvision", "timm", "segmentation_models_pytorch"})


def _calls(facts: ModuleFacts, program: Program) -> Iterator[tuple[ast.Call, Scope]]:
    for name in sorted(_LAYERS | _FUNCTIONS):
        for call, scope in facts.calls.get(name, ()):
            package = "torch.nn." if name in _LAYERS else "torch."
            if (program.callee(call, scope) or "").startswith(package):
                yield call, scope
