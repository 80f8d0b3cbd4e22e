"""Models of transformers whose weights, or some of them, are drawn when they are built.

`from_pretrained` draws what the checkpoint does not hold, such as the head of a classifier; a model built
from a configuration draws everything; an adapter draws what it adds. Knows the catalogue, and nothing of
seeds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Call, Program, Site
from torchrepro_lint.index import Scope, last_name

MAX_ADAPTERS = 4  # one on the other, as a loop may put them


class FreshWeights(NamedTuple):
    """A call that draws weights; `what` says which. It is empty for a class of the project, which may draw some."""

    node: ast.Call
    scope: Scope
    what: str


def fresh_weights(model: Site, program: Program, above: frozenset[ast.Call] = frozenset()) -> Iterator[FreshWeights]:
    """What draws weights for a model, as far as it can be seen; for one with adapters, what draws those of the model
    that has got them comes first. `above` are the calls that put adapters on it."""
    for made in program.results(*model):
        if isinstance(made.callee, Scope):
            yield FreshWeights(made.node, made.scope, "")
        if not isinstance(made.callee, str):
            continue
        call = Call(made.node, made.scope, made.callee, program)
        adapted, drawn = _adapted(call), drawn_weights(call)
        if adapted is not None and made.node not in above and len(above) < MAX_ADAPTERS:
            yield from fresh_weights(adapted, program, above | {made.node})
        if drawn is not None:
            yield FreshWeights(made.node, made.scope, drawn.what)


def _adapted(call: Call) -> Site | None:
    """`model` of `get_peft_model(model, config)`"""
    model = call.argument("model", 0) if call.name in catalogue.names("frameworks", "adapters") else None
    return model if isinstance(model, Site) else None


def own_adapter(trainer: Call) -> Iterator[FreshWeights]:
    """The weights that a trainer of trl draws itself, for the adapter whose configuration it is given."""
    given = trainer.argument("peft_config")
    is_of_derived = last_name(trainer.node.func) == "__init__"  # `super().__init__(...)`
    if not trainer.name.startswith("trl.") or is_of_derived or not isinstance(given, Site):
        return
    if trainer.program.is_made_by(catalogue.names("frameworks", "adapter_configurations"), given.node, given.scope):
        yield FreshWeights(trainer.node, trainer.scope, "the adapter's weights")


@cache
def is_built_fresh(name: str) -> bool:
    """Whether an external class or function builds a model from a configuration: `transformers.BertModel(config)`."""
    row, (owner, _, last) = catalogue.table("frameworks")["fresh"], name.rpartition(".")
    is_of_package = owner.partition(".")[0] == row["package"]
    return is_of_package and (last in row["from_configuration"] or re.fullmatch(row["model"], last) is not None)


@cache
def may_draw_weights(name: str) -> bool:
    """Whether an external function gives a model weights that are drawn: some, or all; it may depend on what it is
    given."""
    row, (owner, _, method) = catalogue.table("frameworks")["fresh"], name.rpartition(".")
    is_model = owner.endswith(tuple(row["heads"])) and not owner.rpartition(".")[2].startswith(tuple(row["not_torch"]))
    is_head = is_model and method in row["from_checkpoint"] and owner.partition(".")[0] == row["package"]
    return is_head or is_built_fresh(name) or name in catalogue.names("frameworks", "adapters")


class Drawn(NamedTuple):
    """Which weights a call draws, and whether that is sure: a checkpoint may have them."""

    what: str
    sure: bool


def drawn_weights(call: Call) -> Drawn | None:
    """The weights that a call of an external function draws."""
    if not may_draw_weights(call.name):
        return None
    if is_built_fresh(call.name):
        return Drawn("all its weights", sure=True)
    if call.name in catalogue.names("frameworks", "adapters"):
        given, known = call.argument("peft_config", 1), catalogue.names("frameworks", "adapter_configurations")
        return Drawn("the adapter's weights", isinstance(given, Site) and call.program.is_made_by(known, *given))
    checkpoint = call.literal("pretrained_model_name_or_path", 0)
    trained = catalogue.table("frameworks")["fresh"]["trained"]
    is_trained = isinstance(checkpoint, str) and any(word in checkpoint.lower() for word in trained)
    return None if is_trained else Drawn("the weights of its head", sure=False)
