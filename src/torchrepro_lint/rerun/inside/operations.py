"""What an operator's schema says about recording it: which arguments it writes, reads, or neither.

Worked out once per operator. Knows schemas and tags; nothing of streams, tensors or the user's code.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

# In-place operators that never look at what they write over. `out=` arguments are such by their nature.
_OVERWRITE = frozenset((
    "copy_", "fill_", "zero_", "uniform_", "normal_", "random_", "bernoulli_", "exponential_", "geometric_",
    "log_normal_", "cauchy_", "set_", "_foreach_copy_", "_foreach_zero_", "resize_", "resize_as_",
))  # fmt: skip
_UNINITIALISED = frozenset((
    "empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "empty_quantized",
    "_empty_affine_quantized", "resize_",
))  # fmt: skip
# What they leave is a copy of what they were given, and says nothing where that is unwritten.
_COPIES = frozenset(("clone", "_to_copy", "_pin_memory", "copy_"))
# Their fourth result, and what follows, is room for the backward pass that is not all written (native_functions.yaml).
_WITH_WORKSPACE = frozenset((
    "mkldnn_rnn_layer", "_cudnn_rnn", "miopen_rnn", "cudnn_batch_norm", "_batch_norm_with_update",
))  # fmt: skip
# FSDP's own operators copy into and out of the buffers of its collectives, which are partly unwritten then.
_COLLECTIVE = ("c10d", "_c10d_functional", "c10d_functional", "_c10d_functional_autograd", "fsdp")
# What a collective fills is unwritten before, though no schema calls it written (torch/csrc/distributed/c10d/Ops.cpp).
_FILLED = {"recv_": "tensors", "recv_any_source_": "tensors", "all_gather_copy_in": "all_gather_output"}


@dataclass(frozen=True)
class Operation:
    """How an operator is recorded. `reads` has, for each positional argument, whether its bytes are an input."""

    name: str
    reads: tuple[bool, ...]
    writes: tuple[bool, ...]
    unread: frozenset[str]  # keyword arguments that are only written, such as out=
    written: frozenset[str]
    is_view: bool  # its result shares memory with an argument, or a storage, and nothing is written
    draws: bool
    uninitialised: bool
    copies: bool  # all of its last tensor, into what it leaves
    collective: bool
    has_workspace: bool  # its results from the fourth on are not all written


@cache
def operation(overload: Any) -> Operation:
    """What is known of an `OpOverload`."""
    import torch

    schema = overload._schema
    base = schema.name.partition("::")[2]
    namespace = schema.name.partition("::")[0]
    arguments = schema.arguments
    writes = [a.alias_info is not None and a.alias_info.is_write for a in arguments]
    overwrites = base in _OVERWRITE
    unread = {a.name for a, written in zip(arguments, writes, strict=True) if written and (a.kwarg_only or overwrites)}
    if namespace in ("c10d", "fsdp"):
        unread |= {a.name for a in arguments if a.name.startswith("output") or a.name == _FILLED.get(base)}
    aliases = any(a.alias_info is not None for a in schema.returns)
    return Operation(
        name=f"{namespace}::{base}",
        reads=tuple(a.name not in unread for a in arguments),
        writes=tuple(writes),
        unread=frozenset(unread),
        written=frozenset(a.name for a, written in zip(arguments, writes, strict=True) if written),
        is_view=base == "set_" or (aliases and not any(writes)),
        draws=torch.Tag.nondeterministic_seeded in overload.tags,
        uninitialised=base in _UNINITIALISED,
        copies=base in _COPIES,
        collective=namespace in _COLLECTIVE,
        has_workspace=base in _WITH_WORKSPACE,
    )
