"""What names say of the tensors that bear them: data that no gradient is wanted for, masks, indices.

Reads names as people choose them, and what a parameter is handed to in its own function. Follows nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from torchrepro_lint.index import Scope

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
_SOFT = re.compile(r"soft|pred|logit|prob|score|weight|learn|hat(?:_|$)")
_WHOLE = re.compile(r"(?:^|_)(?:ids|idxs?|indices|seq_?lens?|seqlens?|lengths)(?:_[qk])?$")
_LOSS = re.compile(r"(?:Loss|Criterion|Discriminator)(?:[A-Z0-9_]\w*)?$")
_PREDICTED = re.compile(r"(?:^|_)(?:hat|pred\w*|fakes?|gen\w*|recon\w*|outputs?|logits?|est\w*|student)(?:_|$)")
_LOADED = re.compile(r"loader|dataset|batch", re.IGNORECASE)
# `x (Tensor): input image`, `input: RGB image tensor with shape ...`: not what a model made of it.
_TOLD = (
    r"^[ \t]*%s\b[^:\n]*:(?![^\n]*(?:feature|embed|predict|generat|reconstruct|logit))[^\n]*\b(?:image|waveform)s?\b"
)
_IMAGE_ENCODERS = ("image_encoder", "vision_encoder", "encode_image")


def is_batch(node: ast.expr) -> bool:
    """Whether it is called like a batch of data, whose items are data too."""
    return isinstance(node, ast.Name) and node.id in _BATCHES


def is_loaded(iterable: str) -> bool:
    """Whether what is iterated over is called like data that is loaded."""
    return _LOADED.search(iterable) is not None


def is_input(name: str, function: Scope) -> bool:
    """Whether a parameter is called or described like data, or handed to an image encoder, itself or what is made of it
    first."""
    return _INPUT.search(name) is not None or _is_encoded(name, function) or _is_told(name, function)


def is_loss(name: str) -> bool:
    """Whether a module class is called like what judges the results of another model."""
    return _LOSS.search(name) is not None


def are_predicted(names: Iterable[str]) -> set[str]:
    """The parameters that are called like what a model has made: `y_hat`, `pred_wave`."""
    return {name for name in names if _PREDICTED.search(name) is not None}


def is_target(name: str) -> bool:
    """Whether it is called like what a model is to predict."""
    return _TARGET.search(name) is not None


def is_mask(name: str) -> bool:
    """Whether it is called like a mask of ones and zeros; one that a model predicts is soft."""
    return _MASK.search(name) is not None and _SOFT.search(name) is None


def is_whole(name: str) -> bool:
    """Whether it is called like whole numbers: `token_ids`, `batch_idx`, `lengths`."""
    return _WHOLE.search(name) is not None


def _is_told(name: str, function: Scope) -> bool:
    node = function.node
    said = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
    return said is not None and re.search(_TOLD % re.escape(name), said, re.MULTILINE | re.IGNORECASE) is not None


def _is_encoded(name: str, function: Scope) -> bool:
    for encoder in _IMAGE_ENCODERS:
        for call, scope in function.facts.calls.get(encoder, ()):
            handed = call.args[0] if call.args and scope is function else None
            if isinstance(handed, ast.Name):
                values = [b.value for b in function.bindings.get(handed.id, ())]
                firsts = [v.args[0] for v in values if isinstance(v, ast.Call) and v.args]
                if any(isinstance(v, ast.Name) and v.id == name for v in (handed, *values, *firsts)):
                    return True
    return False
