"""Where TRP204's fix is not safe: what makes it doubtful that the program's author wants this listing sorted by name.
Such a fix is offered, and a person decides.

For samples, classes and splits any order will do that is always the same. Which one file of several is taken has a
right answer, which is seldom the first by name.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

from torchrepro_lint.checks.generator_doubts import is_never_seeded
from torchrepro_lint.checks.said_on_purpose import is_on_purpose
from torchrepro_lint.dataflow import Program, Site, remembered_in_file
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.index import ModuleFacts, Scope, last_name, names_in
from torchrepro_lint.loading.decisions import GIVEN, INDEXED, ONE_OF_THEM, PARTS, SAVED, WRITTEN, Decision
from torchrepro_lint.loading.listings import Listing
from torchrepro_lint.loading.sets import holds_only_text
from torchrepro_lint.project.contents import is_test
from torchrepro_lint.project.entries import entries, files_of_programs, is_tried_out
from torchrepro_lint.rng.draws import draw_at
from torchrepro_lint.rng.texts import Evidence, Texts
from torchrepro_lint.seeding import training
from torchrepro_lint.seeding.seedings import seedings

# What leaves something behind that another program may read, by the last part of a name.
_LEAVES = re.compile(
    r"(?:write|save(?!fig)|dump|copy|move|rename|link|makedirs|mkdir|extract)|to_(?:csv|json|pickle|parquet|hdf|excel)$|^system$"
)
_DRAWN = ("a random draw picks", "a seeded shuffle gives", "a seeded split gives")
_SEEDS = frozenset({"seed", "manual_seed", "seed_everything", "set_seed", "default_rng", "RandomState", "Random"})
_MIXES = frozenset({"shuffle", "permutation", "sample", "choice", "choices", "randint", "randrange"})
_DRAWS = _MIXES | {"uniform", "normal", "gauss", "rand", "randn", "random"}
_OTHERS = frozenset({"keras", "tensorflow", "theano", "mxnet", "paddle"})
_STARTS = ("Process", "Thread", "Pool")
_SHARES = re.compile(r"(?:^|_)(?:split|chunk|divide|share)", re.IGNORECASE)
_USES = frozenset({"eval", "no_grad", "inference_mode"})  # a model, whatever is written then
_OF_RESULTS = re.compile(
    r"^analy[sz]|(?:^|_)(?:agg|fid|means?|metrics?|plot(?:s|ter|ting)?|report(?:s|ing)?|results?|scores?|stats"
    r"|statistics?|summar(?:y|ies)|visual)(?:_|$)",
    re.IGNORECASE,
)
_FIGURES = re.compile(  # for a person, of which each row is found anywhere
    r"(?:^|_)(?:metrics|reports?|scores|stats|statistics?|summar(?:y|ies))(?:_|$)", re.IGNORECASE
)
_SHOWS = frozenset({"print", "pprint", "display", "show", "imshow", "plot", "subplots", "figure"})


def is_unclear(listing: Listing, decision: Decision, program: Program) -> bool:
    """Whether sorting a listing may not be what an author would do about it."""
    facts = listing.scope.facts
    return (
        decision.why in ONE_OF_THEM
        or (decision.why == GIVEN and not isinstance(decision.node, ast.Yield | ast.YieldFrom))  # a list for nobody
        or is_test(facts)
        or is_on_purpose(facts, listing.node)
        or _is_shared_out(decision, facts)
        or _is_for_evaluation(facts, program)
        or _is_tried_out(listing, program)
        or _only_shows(facts, program)
        or (decision.why.endswith(_DRAWN) and _is_left_to_chance(decision, facts, program))
        or is_of_results(listing.scope, program)
        or _is_for_results(listing.scope.function, program)
        or (decision.why in (SAVED, WRITTEN) and _saves_figures(decision, program))
        or _draws_without_torch(facts, program)
        or _is_called_by_nobody(listing.scope.function, program)
        or is_within_a_set(listing.node, listing.scope, program)
        or (listing.items == "walk" and _is_bottom_up(listing.node))
    )


def _is_for_evaluation(facts: ModuleFacts, program: Program) -> bool:
    """Whether what is listed is evaluated, by the file itself or by the few programs that run it. A program that loads
    something and writes files may prepare data."""
    if training.is_named_otherwise(facts, program):
        return training.is_called_otherwise(facts, program)
    if len(program.project.users([facts.source.path])) > training.MAX_PROGRAMS:
        return False
    uses_model = not _USES.isdisjoint(facts.calls)
    return training.only_evaluates(facts, program) and (uses_model or not _leaves_something(facts))


def _is_tried_out(listing: Listing, program: Program) -> bool:
    """Whether a module that others import lists files under its own guard, to try itself out on them."""
    facts = listing.scope.facts
    is_trial = facts.in_guard(listing.node) and is_tried_out(facts, program.project)
    return is_trial and not _leaves_something(facts)


def _only_shows(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program computes nothing with PyTorch and leaves nothing behind: it shows what a person looks at."""
    shows = bool(facts.source.cells) or not _SHOWS.isdisjoint(facts.calls)
    if "torch" in facts.packages or not shows or not entries(facts, program.project):
        return False
    is_alone = program.project.reachable(facts.source.path) <= {facts.source.path}
    return is_alone and not _leaves_something(facts)


def is_of_results(scope: Scope, program: Program) -> bool:
    """Whether what is listed are results, or what scores are computed of, by the name of the function or the file: a
    mean has no order, and a person finds a row of a table anywhere."""
    path = scope.facts.source.path
    function, stem = scope.function.own_name, path.parent.name if path.stem == "__main__" else path.stem
    found = next((name for name in (function, stem) if _OF_RESULTS.search(name)), "")
    return program.by_name(bool(found), "that results are listed", scope, found)


def _is_shared_out(decision: Decision, facts: ModuleFacts) -> bool:
    """Whether threads or processes of the program's own each take some of the files: their results come in any order,
    or lie where they belong, whatever that of the files."""
    if "imap_unordered" in facts.calls:
        return True
    starting = _starting(decision.facts)
    divides = _SHARES.search(decision.facts.scope_of(decision.node).function.own_name) is not None
    if divides and decision.why in (PARTS, INDEXED) and starting and "torch" not in decision.facts.packages:
        return True
    if decision.why == PARTS and isinstance(decision.facts.parents[decision.node], ast.Yield):
        return bool(starting) and "torch" not in decision.facts.packages
    return any(call in starting for call in decision.facts.ancestors(decision.node))


@remembered_in_file
def _starting(facts: ModuleFacts) -> frozenset[ast.AST]:
    """The calls of a file that make threads, processes and pools."""
    return frozenset(call for name in _STARTS for call, _ in facts.calls.get(name, ()))


def _is_for_results(function: Scope, program: Program) -> bool:
    """Whether all that call the function of a listing are about results."""
    calls = program.callers_of(function) if function.kind == "function" else None
    return bool(calls) and all(is_of_results(where, program) for _, where in calls or ())


def _saves_figures(decision: Decision, program: Program) -> bool:
    """Whether what is saved are figures about the files, by its name: `stats.to_csv("stats.csv")`; or results are the
    rows of a table."""
    call = decision.node
    saved = [getattr(call.func, "value", None), *call.args] if isinstance(call, ast.Call) else []
    names = [value.id for value in saved if isinstance(value, ast.Name)]
    is_table = isinstance(call, ast.Call) and last_name(call.func) in ("writerows", "to_csv", "to_excel")
    found = next(filter((_OF_RESULTS if is_table else _FIGURES).search, names), "")
    return program.by_name(bool(found), "that results are listed", decision.facts.scope, found)


def _leaves_something(facts: ModuleFacts) -> bool:
    return any(map(_LEAVES.search, facts.calls))


def _is_left_to_chance(decision: Decision, facts: ModuleFacts, program: Program) -> bool:
    """Whether nothing seeds the programs that run a file, nor does a safe fix; or one that trains nothing draws, and is
    not seeded, or one that trains nothing with PyTorch and seeds another generator: then what is drawn differs in any
    order."""
    found = seedings(facts, program)
    is_other = any(s.met for s in found) and not any(training.is_for_training(s, program) for s in found)
    node = decision.node
    if isinstance(node, ast.Call) and any(k.arg in ("random_state", "seed") for k in node.keywords):
        return False
    if is_never_seeded(facts, program):
        return True
    if not is_other and not training.trains_nothing(facts, program):
        return False
    draw = draw_at(node, decision.facts.scope_of(node), program) if isinstance(node, ast.Call) else None
    met = [m.seeder for s in found for m in s.met]
    return not any(draw is None or seeder is None or draw.family in seeder.families for seeder in met)


def is_drawn(made: ast.expr, facts: ModuleFacts, program: Program) -> bool:
    """Whether a script without PyTorch draws without a seed, and what it makes here holds what it drew."""
    return _draws_without_torch(facts, program) and not names_in(made).isdisjoint(_drawn(facts))


@remembered_in_file
def _drawn(facts: ModuleFacts) -> set[str]:
    """The names that a file gives to what it draws, or whose items it shuffles."""
    calls = [call for name in sorted(_MIXES) for call, _ in facts.calls.get(name, ())]
    targets = (t for call in calls for t in getattr(facts.statement(call), "targets", ()))
    return names_in(*targets, *(a for call in calls for a in call.args if last_name(call.func) == "shuffle"))


def _draws_without_torch(facts: ModuleFacts, program: Program) -> bool:
    """The same of a script without PyTorch, and of what it imports: whatever else the order decides there, its draws
    differ."""
    users = program.project.users([facts.source.path])
    files = [facts, *(program.loaded(users) if len(users) <= training.MAX_PROGRAMS else ())]
    if len(files) <= len(users) or any("torch" in f.packages for f in files):
        return False
    if any(s.met for f in files for s in seedings(f, program)):
        return False
    is_for_others = any(not f.packages.isdisjoint(_OTHERS) for f in files)
    if not is_for_others and any(s.trains for f in files for s in seedings(f, program)):
        return False
    return any(map(_draws, files)) and all(f.calls.keys().isdisjoint(_SEEDS) for f in files)


def _draws(facts: ModuleFacts) -> bool:
    imported = {b.target.partition(".")[0] for b in facts.imports}
    return not _DRAWS.isdisjoint(facts.calls) and not {"random", "numpy"}.isdisjoint(imported)


def _is_called_by_nobody(function: Scope, program: Program) -> bool:
    """Whether programs run the file of a function whose name is written nowhere but where it is defined."""
    facts, name, node = function.facts, function.own_name, function.node
    if not isinstance(node, ast.FunctionDef) or function.method_class is not None or node.decorator_list:
        return False
    files = program.project.text.mentioning(name)
    is_mentioned = files is None or any(path != facts.source.path for path in files)
    is_alone = not is_mentioned and _words(facts)[name] == 1
    return is_alone and bool(files_of_programs(facts, program.project))


@remembered_in_file
def _words(facts: ModuleFacts) -> Counter[str]:
    """How often each word is written in a file."""
    return Counter(re.findall(r"\w+", facts.source.whole))


def is_within_a_set(node: ast.expr, scope: Scope, program: Program) -> bool:
    """Whether something is listed for each item of a set that may hold texts, and is not sorted safely itself: the
    order of all would still differ."""
    texts = Texts(program)
    loops = (loop for loop in loops_around(scope.facts, node) if isinstance(loop, ast.For))
    return any(
        program.evaluate(loop.iter, scope, texts).items is not Evidence.OTHER and not holds_only_text(made, program)
        for loop in loops
        if (made := _set_in(loop.iter, scope)) is not None
    )


def _set_in(node: ast.expr, scope: Scope) -> Site | None:
    """`set(names)`, of `set(names) - others` and of a name that holds it."""
    parts, names = [node], set[str]()
    for part in parts:
        match part:
            case ast.Name(id=name) if name not in names:
                names.add(name)
                parts += [b.value for b in scope.bindings_of(part) if isinstance(b.value, ast.Call | ast.BinOp)]
            case ast.BinOp(left=left, op=ast.Sub() | ast.BitOr() | ast.BitAnd()):
                parts.append(left)
            case ast.Call(func=ast.Name(id="set" | "frozenset")):
                return Site(part, scope)
    return None


def _is_bottom_up(walk: ast.Call) -> bool:
    """`os.walk(folder, topdown=False)`: who wants the inner folders first loses that where the walk is sorted."""
    return any(k.arg == "topdown" and getattr(k.value, "value", True) is False for k in walk.keywords)
