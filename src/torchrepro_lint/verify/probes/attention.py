"""Probes of attention: keys of many blocks, whose shares of a query's gradient are added up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from torchrepro_lint.verify.experiment import Experiment, Unsupported
from torchrepro_lint.verify.probes import known
from torchrepro_lint.verify.probes.draws import Draws
from torchrepro_lint.verify.probes.modules import applied
from torchrepro_lint.verify.probes.packages import imported
from torchrepro_lint.verify.probes.registry import probe
from torchrepro_lint.verify.probes.sizes import floats, on, words

Arguments = Mapping[str, object]
Tensor = torch.Tensor


def _query_key_value(device: torch.device, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    draws = Draws(device)
    shape = (2, 4, on(device, 128, 2048), 64)
    return (
        draws.normal(*shape, dtype=dtype, grad=True),
        draws.normal(*shape, dtype=dtype, grad=True),
        draws.normal(*shape, dtype=dtype, grad=True),
    )


@probe("sdpa")
def sdpa(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """As PyTorch chooses for each dtype, and each fused kernel by name."""
    for dtype in floats(device):
        yield _attention(device, arguments, dtype, F.scaled_dot_product_attention, "the backend that PyTorch chooses")
    if device.type == "cuda":
        for backend, dtype in _fused(device):
            yield _attention(device, arguments, dtype, _on_backends(backend), backend)


def _fused(device: torch.device) -> Iterator[tuple[str, torch.dtype]]:
    """Backends that add with atomics, and dtypes that they take."""
    if torch.cuda.get_device_capability(device) >= (8, 0):
        yield "FLASH_ATTENTION", torch.float16
    yield "EFFICIENT_ATTENTION", torch.float32
    yield "EFFICIENT_ATTENTION", torch.float16


@probe("sdpa-cudnn")
def sdpa_cudnn(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """With the math backend to fall back on, because the flag takes cuDNN's away."""
    if device.type != "cuda":
        raise Unsupported("cuDNN runs on CUDA only")
    operation = _on_backends("CUDNN_ATTENTION", "MATH")
    yield _attention(device, arguments, torch.float16, operation, "CUDNN_ATTENTION first, else MATH")


def _attention(
    device: torch.device, arguments: Arguments, dtype: torch.dtype, operation: Callable[..., Any], backend: str
) -> Experiment:
    causal, dropout = known.flag(arguments, "is_causal"), known.number(arguments, "dropout_p", 0.0)
    query, key, value = _query_key_value(device, dtype)
    return Experiment(
        f"query, key, value {words(query)}, is_causal={causal}, {backend}; backward",
        (query, key, value),
        lambda query, key, value: operation(query, key, value, dropout_p=dropout, is_causal=causal),
        backward=True,
    )


def _on_backends(*names: str) -> Callable[..., Tensor]:
    """Attention on these backends alone, in this order of preference."""
    try:
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as error:
        raise Unsupported("this PyTorch cannot choose a backend by name") from error
    if not all(hasattr(SDPBackend, name) for name in names):
        raise Unsupported(f"this PyTorch has no backend {' or '.join(names)}")
    backends = [getattr(SDPBackend, name) for name in names]
    in_order = {"set_priority": True} if len(backends) > 1 else {}
    if not in_order.keys() <= inspect.signature(sdpa_kernel).parameters.keys():
        raise Unsupported("this PyTorch cannot prefer one backend to another")

    def operation(query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
        with sdpa_kernel(backends, **in_order):
            return F.scaled_dot_product_attention(query, key, value, **options)

    return operation


@probe("attention-module")
def attention_module(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    width, heads = _heads(arguments, "embed_dim", "num_heads")
    need_weights = known.flag(arguments, "need_weights", False)
    for dtype in floats(device):
        draws = Draws(device)
        x = draws.normal(2, on(device, 64, 1024), width, dtype=dtype, grad=True)
        module = torch.nn.MultiheadAttention(width, heads, batch_first=True, device="meta")
        inputs, operation = applied(_SelfAttention(module, need_weights), draws, x)
        yield Experiment(
            f"x {words(x)}, {heads} heads, need_weights={need_weights}; backward", inputs, operation, backward=True
        )


def _heads(arguments: Arguments, width: str, heads: str) -> tuple[int, int]:
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


@probe("transformer-layer")
def transformer_layer(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    width, heads = _heads(arguments, "d_model", "nhead")
    for dtype in floats(device):
        draws = Draws(device)
        x = draws.normal(2, on(device, 64, 1024), width, dtype=dtype, grad=True)
        layer = torch.nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, batch_first=True, device="meta")
        inputs, operation = applied(layer, draws, x)
        yield Experiment(f"x {words(x)}, {heads} heads, without dropout; backward", inputs, operation, backward=True)


@probe("flex-attention")
def flex_attention(device: torch.device, arguments: Arguments) -> Iterator[Experiment]:
    """A score_mod that captures a bias per distance: every score adds to the gradient of one of its elements."""
    if device.type != "cuda":
        raise Unsupported("the gradient of a captured tensor is probed on CUDA only, where it is compiled")
    if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 6):
        raise Unsupported("flex_attention has gradients of captured tensors from PyTorch 2.6 on")
    imported("triton")
    from torch.nn.attention.flex_attention import flex_attention as attention

    query, key, value = _query_key_value(device, torch.float16)
    length = query.shape[-2]
    bias = Draws(device).normal(2 * length, grad=True)

    def biased(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
        def score_mod(score: Tensor, batch: Tensor, head: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return score + bias[q - k + length]

        output: Tensor = attention(query, key, value, score_mod=score_mod)
        return output

    yield Experiment(
        f"query, key, value {words(query)}, score_mod adds bias {words(bias)} by distance, compiled; backward",
        (query, key, value, bias),
        torch.compile(biased),
        backward=True,
    )
