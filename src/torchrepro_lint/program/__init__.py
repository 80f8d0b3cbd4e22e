"""The files of a project linked: names, values and calls across files. Knows no rules and no libcst.

What rules share on top of that has three rooms: `randomness` (seeds and draws), `data` (order, loaders, samplers) and
`kernels` (operations and switches).
"""

from torchrepro_lint.program.calls import UNKNOWN, Argument, Call, Opaque
from torchrepro_lint.program.names import Variable
from torchrepro_lint.program.origins import Constant, Display, Element, Origin, Parameter, Reference, Result, Unknown
from torchrepro_lint.program.program import Module, Program
from torchrepro_lint.program.randomness import FAMILIES

__all__ = [
    "FAMILIES",
    "UNKNOWN",
    "Argument",
    "Call",
    "Constant",
    "Display",
    "Element",
    "Module",
    "Opaque",
    "Origin",
    "Parameter",
    "Program",
    "Reference",
    "Result",
    "Unknown",
    "Variable",
]
