"""Tensors as bytes: what counts as the same result, and a short name for each result.

Two results are the same when dtype, shape and every byte agree: payloads of NaN and the sign of zero count, strides
do not. Tensors are compared where they are, so that nothing but the answer leaves a GPU.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import torch

from torchrepro_lint.pool import processors

Outcome = Mapping[str, torch.Tensor]
"""What one run left behind, under names that a person understands: "output", "gradient of input 2"."""

_WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}  # by bytes of an element
_PIECE = 1 << 20  # bytes that one thread takes at a time


def parts(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The dense tensors that hold a tensor's values: a sparse one has indices and values."""
    tensor = tensor.detach()
    if tensor.layout is torch.sparse_coo:
        yield tensor._indices()
        yield tensor._values()
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        yield from (tensor.crow_indices(), tensor.col_indices(), tensor.values())
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        yield from (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
    elif tensor.is_quantized:
        yield tensor.int_repr()
    else:
        yield tensor.resolve_conj().resolve_neg()


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """The elements of a dense tensor in their order, one-dimensional, on its own device."""
    return tensor.contiguous().reshape(-1)


def integers(flat: torch.Tensor) -> torch.Tensor:
    """The bits of each element as a whole number: NaN equals itself, and is compared several times as fast as bytes."""
    return flat.view(_WORDS[flat.element_size()])


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a dense tensor in the order of its elements, one-dimensional, on its own device."""
    elements = flat(tensor)
    return elements.view(torch.uint8) if elements.numel() else elements.new_empty(0, dtype=torch.uint8)


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether dtype, shape and every byte agree."""
    if (one.dtype, one.shape, one.layout) != (other.dtype, other.shape, other.layout):
        return False
    pairs = zip(parts(one), parts(other), strict=True)
    return all(a.shape == b.shape and torch.equal(integers(flat(a)), integers(flat(b))) for a, b in pairs)


def first_different(one: Outcome, other: Outcome) -> str | None:
    """The name of the first part that is not the same in both; None where all are."""
    for name in (*one, *(name for name in other if name not in one)):
        if name not in one or name not in other or not same(one[name], other[name]):
            return name
    return None


def digest(outcome: Outcome) -> str:
    """16 hexadecimal digits that stand for all bytes of a result: what tells results of two processes apart.

    Of more than a piece of them, the digests of its pieces count, which threads work out: otherwise, where every result
    of a GPU is another one, most of the time would go here.
    """
    state = hashlib.blake2b(digest_size=8)
    for name, tensor in outcome.items():
        state.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {tensor.layout};".encode())
        for part in parts(tensor):
            flat = as_bytes(part).cpu()  # not through numpy, which may be absent
            for data in _condensed(_memory(flat)):
                state.update(data)
    return state.hexdigest()


def _memory(flat: torch.Tensor) -> memoryview:
    """The bytes where they lie, for as long as the tensor lives."""
    return memoryview((ctypes.c_char * flat.numel()).from_address(flat.data_ptr()) if flat.numel() else b"").cast("B")


def _condensed(data: memoryview) -> Iterable[memoryview | bytes]:
    if len(data) <= _PIECE:
        return [data]
    pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)]
    with ThreadPoolExecutor(min(processors(), len(pieces))) as pool:
        return list(pool.map(lambda piece: hashlib.blake2b(piece).digest(), pieces))
