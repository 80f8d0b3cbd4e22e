"""Probes: for each operation of the catalogue, inputs on which it would show that its result varies.

A probe takes a device and the arguments that are known at the flagged site, and yields experiments of several sizes
and dtypes; what is not known has the recipe's default, and so has what the site leaves out unless PyTorch's default is
another operation. It knows nothing of repeats, verdicts or findings.
"""

from __future__ import annotations

from importlib import import_module

from torchrepro_lint.verify.probes.registry import PROBES, Probe

FAMILIES = (
    "scatter_index",
    "interpolation",
    "padding",
    "pooling",
    "sort_scan",
    "loss",
    "embedding",
    "attention",
    "linear_algebra",
    "memory",
    "compiled",
    "vision",
    "graphs",
    "third_party",
    "collectives",
)


def find(name: str) -> Probe | None:
    """The probe that a row of the catalogue names in `probe`. Imports torch."""
    for family in FAMILIES:
        import_module(f"{__name__}.{family}")
        if name in PROBES:
            return PROBES[name]
    return None
