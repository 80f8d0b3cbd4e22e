"""TRP111: scikit-learn or pandas draws from numpy's global generator, for which no seed was found."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from torchrepro_lint.checks.argument_edit import passing
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.said_on_purpose import is_on_purpose
from torchrepro_lint.dataflow import Call, Module, Program, remembered, remembered_in_file
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.references import reads_of_target
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import ModuleFacts, Scope, calls_in, keyword_value, last_name
from torchrepro_lint.loading.looked_at import is_shown
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.entries import files_of_programs
from torchrepro_lint.rng.estimators import SEED, position, unseeded
from torchrepro_lint.rng.own_seed import seed_text
from torchrepro_lint.rng.seed_options import is_seed
from torchrepro_lint.rng.usual_seed import has_own_seed
from torchrepro_lint.seeding.seedings import is_reported, is_unseeded, may_be_seeded

_FOR_PROBABILITIES = frozenset({"sklearn.svm.SVC", "sklearn.svm.NuSVC"})
_OF_SEARCH = frozenset({"fit", "cv_results_", "best_params_", "best_score_", "best_index_", "predict", "score"})


def check(module: Module, program: Program) -> Iterator[Draft]:
    found = [] if is_test(module.facts) else unseeded(module)
    calls = [c for c in found if not (is_shown(c.node, c.scope, program) or _is_scored_by_class(c))]
    if not calls or is_reported(module.facts, program) or may_be_seeded(module.facts, program):
        return
    alike = Counter((call.name, call.scope) for call in calls)
    for call in calls:
        often = runs_often(program, call.node, call.scope)  # a bootstrap would give the same sample in each iteration
        seed = seed_text(call.scope, call.node, program)
        seed = _number_beside(call) or seed if seed.isdecimal() else seed
        edits = () if often else passing(call, SEED, seed, position(call))
        is_beside = alike[call.name, call.scope] > 1
        unsafe = _draws_at_once(call) and (is_beside or not runs_once(program, call.node, call.scope))
        unsafe = unsafe or is_on_purpose(call.facts, call.node)
        unsafe = unsafe or (seed.isdecimal() and _has_option(module.facts, program))
        known = is_unseeded(call.scope, program)
        yield Draft(
            call.node,
            {"call": call.written},
            certainty=Certainty.LIKELY if known else None,
            depends=() if known else ("the program that runs it seeds numpy",),
            properties={"family": "numpy"},
            edits=edits,
            unsafe=unsafe,
        )


def _is_scored_by_class(call: Call) -> bool:
    """Whether a machine that draws for its probabilities alone is handed to nothing but searches that score the classes
    which it predicts, and is not asked for more: `GridSearchCV(SVC(probability=True), grid)`."""
    if call.name not in _FOR_PROBABILITIES:
        return False
    match call.facts.parents[call.node]:
        case ast.Assign(targets=[ast.Name() as target]) as statement:
            uses = [site.node for site in reads_of_target(target, statement, call.scope, call.program)]
        case _:
            uses = [call.node]
    return bool(uses) and all(_is_searched(use, call) for use in uses)


def _is_searched(use: ast.AST, call: Call) -> bool:
    facts, search = call.facts, call.facts.parents[use]
    if not isinstance(search, ast.Call) or search.args[:1] != [use] or keyword_value(search, "scoring") is not None:
        return False
    match facts.parents[search]:
        case ast.Assign(targets=[ast.Name() as target]) as statement if last_name(search.func).endswith("SearchCV"):
            found = reads_of_target(target, statement, call.scope, call.program)
            parts = (facts.parents[site.node] for site in found)
            return all(isinstance(part, ast.Attribute) and part.attr in _OF_SEARCH for part in parts)
    return False


def _number_beside(call: Call) -> str:
    """The number that most calls of a function or of a cell are given, if any: its file may have others elsewhere."""
    function, cells = call.scope.function, call.facts.source.cells
    if function.kind != "function" and not cells:
        return ""
    return _numbers(function).get(_cell(call.node, function), "")


@remembered_in_file
def _numbers(function: Scope) -> dict[int, str]:
    """The number that most calls of a function are given; those of a notebook, cell by cell."""
    found: dict[int, Counter[str]] = {}
    for call in calls_in(function.node):
        value = keyword_value(call, SEED)
        if isinstance(value, ast.Constant) and is_seed(value):
            found.setdefault(_cell(call, function), Counter())[str(value.value)] += 1
    return {cell: numbers.most_common(1)[0][0] for cell, numbers in found.items()}


def _cell(call: ast.Call, function: Scope) -> int:
    """The cell of a call that no function makes, counted from the top."""
    cells = function.facts.source.cells if function.kind == "module" else ()
    return bisect_right([first for first, _ in cells], call.lineno)


@remembered
def _has_option(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that run the file have an option for the seed, which could not be read at the call."""
    return has_own_seed(files_of_programs(facts, program.project), program)


def _draws_at_once(call: Call) -> bool:
    """Whether a function draws whenever it is called. An estimator or splitter is an object, which draws when fitted or
    asked for its splits: it should give the same whenever it is made."""
    return not call.name.rpartition(".")[2][:1].isupper()
