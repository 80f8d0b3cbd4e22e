"""How values and control move through a project: what an expression is, what becomes of a value, who calls what, and
under which conditions. Knows nothing of torch, of random numbers, or of what any library does."""

from torchrepro_lint.dataflow.calls import Call, Module, calls_like
from torchrepro_lint.dataflow.domain import Domain, Of, Written
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.dataflow.sites import CallSite, NodeSite, Site, start_of
from torchrepro_lint.dataflow.store import remembered, remembered_in_file, remembered_last, remembered_of_texts
from torchrepro_lint.project.unknown import UNKNOWN, Opaque

__all__ = [
    "UNKNOWN",
    "Call",
    "CallSite",
    "Domain",
    "Module",
    "NodeSite",
    "Of",
    "Opaque",
    "Program",
    "Site",
    "Written",
    "calls_like",
    "remembered",
    "remembered_in_file",
    "remembered_last",
    "remembered_of_texts",
    "start_of",
]
