"""A seed for what learns in an environment, as an agent of Stable-Baselines3 does: it seeds the global generators, the
environment and the space of actions with it."""

from __future__ import annotations

from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Fix
from torchrepro_lint.dataflow import Call, Program
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.rng.own_seed import generator_seed


def seeded_learner(learner: Call, program: Program) -> Fix:
    """Pass it the program's seed; nothing where it is made again and again, each time for another try."""
    if runs_often(program, learner.node, learner.scope):
        return Fix()
    seed = generator_seed(learner.scope, learner.node, program)
    return Fix(passing(learner, "seed", seed), not runs_once(program, learner.node, learner.scope))
