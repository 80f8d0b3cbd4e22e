"""Probes of attention: keys of many blocks, whose shares of a query's gradient are added up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.devices import capability
from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.given import Given
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.inputs import Draws, applied, on, words
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import probe

Tensor = torch.Tensor


def _query_key_value(device: torch.device, arguments: Given, dtype: torch.dtype | None) -> tuple[Draws, list[Tensor]]:
    """And the draws, of which there may be more."""
    draws = Draws(device, arguments)
    shape = known.shape(arguments, (2, 4, on(device, 128, 2048), 64))
    return draws, [draws.normal(*shape, dtype=dtype, grad=True).contiguous() for _ in range(3)]


@probe("sdpa", halves=True)
def sdpa(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """As PyTorch chooses for each dtype, and each fused kernel by name: those that add with atomics."""
    yield _attention(device, arguments, None, F.scaled_dot_product_attention, "the backend that PyTorch chooses")
    if device.type != "cuda":
        return
    if arguments.dtype is not torch.float32 and capability(device) >= (8, 0):
        yield _attention(device, arguments, None, _on_backends("FLASH_ATTENTION"), "FLASH_ATTENTION")
    yield _attention(device, arguments, None, _on_backends("EFFICIENT_ATTENTION"), "EFFICIENT_ATTENTION")


@probe("sdpa-cudnn")
def sdpa_cudnn(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """With the math backend to fall back on, because the flag takes cuDNN's away."""
    if device.type != "cuda":
        raise Unsupported("cuDNN runs on CUDA only")
    operation = _on_backends("CUDNN_ATTENTION", "MATH")
    for dtype in (torch.float16, torch.bfloat16):
        yield _attention(device, arguments, dtype, operation, "CUDNN_ATTENTION first, else MATH")


def _attention(
    device: torch.device, arguments: Given, dtype: torch.dtype | None, operation: Callable[..., Any], backend: str
) -> Experiment:
    options: dict[str, Any] = {
        "dropout_p": known.number(arguments, "dropout_p", 0.0),
        "is_causal": known.flag(arguments, "is_causal"),
    }
    if arguments.get("scale") is not None:
        options["scale"] = known.number(arguments, "scale", 1.0)
    _, (query, key, value) = _query_key_value(device, arguments, dtype)
    told = ", ".join(f"{name}={value}" for name, value in options.items())
    return Experiment(
        f"query, key, value {words(query)}, {told}, {backend}; backward",
        (query, key, value),
        lambda query, key, value: operation(query, key, value, **options),
        backward=True,
        prelude=_alone(backend),
    )


_SWITCHES = {
    "FLASH_ATTENTION": "flash",
    "EFFICIENT_ATTENTION": "mem_efficient",
    "CUDNN_ATTENTION": "cudnn",
    "MATH": "math",
}


def _alone(backend: str) -> tuple[str, ...]:
    """Statements that leave these backends alone; none where PyTorch is to choose."""
    kept = {switch for name, switch in _SWITCHES.items() if name in backend}
    others = [switch for switch in _SWITCHES.values() if kept and switch not in kept]
    return tuple(f"torch.backends.cuda.enable_{switch}_sdp(False)" for switch in others)


def _on_backends(*names: str) -> Callable[..., Tensor]:
    """Attention on these backends alone, in this order of preference. Raises Unsupported when it is run."""

    def operation(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        with _only(names):
            return F.scaled_dot_product_attention(query, key, value, **options)

    return operation


def _only(names: Sequence[str]) -> AbstractContextManager[object]:
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as error:
        raise Unsupported("this PyTorch cannot choose a backend by name") from error
    if not all(hasattr(SDPBackend, name) for name in names):
        raise Unsupported(f"this PyTorch has no backend {' or '.join(names)}")
    in_order = {"set_priority": True} if len(names) > 1 else {}
    if not in_order.keys() <= inspect.signature(sdpa_kernel).parameters.keys():
        raise Unsupported("this PyTorch cannot prefer one backend to another")
    return sdpa_kernel([getattr(SDPBackend, name) for name in names], **in_order)


@probe("attention-module", halves=True)
def attention_module(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    width, heads = _heads(arguments, "embed_dim", "num_heads")
    need_weights = known.flag(arguments, "need_weights", False)
    dropout = known.number(arguments, "dropout", 0.0)
    draws = Draws(device, arguments)
    x = draws.normal(2, on(device, 64, 1024), width, grad=True)
    module = torch.nn.MultiheadAttention(width, heads, dropout, batch_first=True, device="meta")
    inputs, operation = applied(_SelfAttention(module, need_weights), draws, x)
    yield Experiment(
        f"x {words(x)}, {heads} heads, dropout={dropout}, need_weights={need_weights}; backward",
        inputs,
        operation,
        backward=True,
    )


def _heads(arguments: Given, width: str, heads: str) -> tuple[int, int]:
    """The width of a model with heads as wide as the site's, but not more than four of them; and their number."""
    total, number = known.integer(arguments, width, 128), known.integer(arguments, heads, 4)
    if total % number:
        raise Unsupported(f"{width}={total} is no multiple of {heads}={number}")
    few = min(number, 4)
    return total // number * few, few


class _SelfAttention(torch.nn.Module):
    def __init__(self, attention: torch.nn.MultiheadAttention, need_weights: bool) -> None:
        super().__init__()
        self.attention = attention
        self.need_weights = need_weights

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.attention(x, x, x, need_weights=self.need_weights)[0]
        return output


@probe("transformer-layer", halves=True)
def transformer_layer(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    width, heads = _heads(arguments, "d_model", "nhead")
    draws = Draws(device, arguments)
    x = draws.normal(2, on(device, 64, 1024), width, grad=True)
    layer = torch.nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, batch_first=True, device="meta")
    inputs, operation = applied(layer, draws, x)
    yield Experiment(f"x {words(x)}, {heads} heads, without dropout; backward", inputs, operation, backward=True)


# Of the forward pass and of the two loops of the backward pass. With each block of scores goes one of the bias, in
# float32, into shared memory, once for each stage of the pipeline: with the blocks that PyTorch chooses for heads
# of 64 this takes 240 KiB, where GPUs have 64 to 227.
_BLOCKS: Any = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_M1": 32, "BLOCK_N1": 64, "BLOCK_M2": 64, "BLOCK_N2": 32}


@probe("flex-attention")
def flex_attention(device: torch.device, arguments: Given) -> Iterator[Experiment]:
    """A score_mod that captures a bias per distance: every score adds to the gradient of one of its elements."""
    if device.type != "cuda":
        raise Unsupported("the gradient of a captured tensor is probed on CUDA only, where it is compiled")
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        raise Unsupported("flex_attention has gradients of captured tensors from PyTorch 2.6 on")
    imported("triton")
    from torch.nn.attention.flex_attention import flex_attention as attention

    draws, (query, key, value) = _query_key_value(device, arguments, torch.float16)
    length = query.shape[-2]
    bias = draws.normal(2 * length, grad=True)

    def biased(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        def score_mod(score: Tensor, batch: Tensor, head: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return score + bias[q - k + length]

        output: Tensor = attention(query, key, value, score_mod=score_mod, kernel_options=_BLOCKS)
        return output

    yield Experiment(
        f"query, key, value {words(query)}, score_mod adds bias {words(bias)} by distance, compiled; backward",
        (query, key, value, bias),
        torch.compile(biased),
        backward=True,
        compiles=True,
    )
