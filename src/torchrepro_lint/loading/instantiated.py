"""Loaders that Hydra makes: `instantiate(cfg.loader, dataset=data)`, with the arguments that the configuration gives by
default. Knows the catalogue's loaders; what a target is, the program knows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchrepro_lint.dataflow.calls import Call, Module
from torchrepro_lint.dataflow.configured_values import rows
from torchrepro_lint.dataflow.defaults import Instantiation
from torchrepro_lint.dataflow.grafts import graft
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.loading.loaders import loaders


def instantiated_loaders(module: Module, program: Program) -> Iterator[Call]:
    """The loaders that calls in a file make; what is asked of their arguments is known by default."""
    names = {name.rpartition(".")[2] for name in rows("instantiators")}
    for call, scope in (site for name in sorted(names) for site in module.facts.calls.get(name, ())):
        for made in program.instantiated(call, scope):
            if isinstance(made.target, str) and made.target in loaders():
                yield Call(_written_out(call, made, module), scope, made.target, program)


def _written_out(call: ast.Call, made: Instantiation, module: Module) -> ast.Call:
    """The call as Hydra makes it: with the mapping unpacked, and what the code passes."""
    mapping = call.args[0] if made.is_outermost else graft(made.mapping)
    own = call.keywords if made.is_outermost else []
    written = ast.copy_location(ast.Call(call.func, [], [*own, ast.keyword(None, mapping)]), call)
    module.facts.parents.adopt(written, call)
    return written
