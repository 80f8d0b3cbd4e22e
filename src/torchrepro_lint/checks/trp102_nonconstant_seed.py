"""TRP102: a generator is seeded with a value that is different on every run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchrepro_lint import catalogue
from torchrepro_lint.checks.argument_edit import as_first
from torchrepro_lint.checks.configured import is_none, placed
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.nonconstant_seed_fix import (
    Clock,
    clocks,
    imports_left_over,
    is_worker_init,
    seed_edits,
    seed_or_workers,
    tells_apart,
    whole_value,
)
from torchrepro_lint.dataflow import (
    UNKNOWN,
    Call,
    CallSite,
    Module,
    Program,
    Site,
    remembered,
    remembered_in_file,
    start_of,
)
from torchrepro_lint.dataflow.conditions import are_exclusive, conditions
from torchrepro_lint.dataflow.execution_count import runs_often, runs_once
from torchrepro_lint.dataflow.reachability import cleans_up, reached_by_default
from torchrepro_lint.index import ModuleFacts, Scope, keyword_value, last_name, walk
from torchrepro_lint.model import Edit
from torchrepro_lint.project.declarations import attribute_of, flags_of
from torchrepro_lint.rng.chosen_seeds import Seeding, seeds_anew
from torchrepro_lint.rng.draws import draw_at, is_seeder
from torchrepro_lint.rng.entropy import Entropy, Source
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.ranks import has_ranks
from torchrepro_lint.rng.reseeds import is_helper
from torchrepro_lint.rng.seed_options import SEED_NAME
from torchrepro_lint.rng.usual_seed import usual_seed
from torchrepro_lint.seeding.training import only_evaluates
from torchrepro_lint.syntax import Import, import_name, replace

_MEANT = re.compile(
    r"randomi[sz]e (?:the )?seed|new (?:\w+ )?seed|different|on purpose|intention|deliberate|otherwise"
    r"|\bor (?:an? )?(?:specific|fixed|other)\b|\b(?:each|every) (?:time|run)\b",
    re.IGNORECASE,
)
_LOADS = frozenset({"load_state_dict", "load_checkpoint"})
_SHOWS = frozenset({"print", "info", "debug", "warning", "log", "write", "dump"})
_ADDS_ROWS = frozenset({"append", "writerow"})
_SECRETS = r"(?i)\b(?:nonce|passw(?:or)?d|cipher\w*|encrypt\w*|cryptography)\b"
_OTHER_FRAMEWORKS = frozenset({"tensorflow", "keras", "jax", "flax", "mxnet", "paddle", "theano"})
_COMPUTES = frozenset({"torch", "numpy", "lightning", "pytorch_lightning", "transformers", "accelerate"})
NONE_IS_RANDOM = {"numpy.random.seed": "seed", "random.seed": "a", "cupy.random.seed": "seed"}


def check(module: Module, program: Program) -> Iterator[Draft]:
    yield from _from_sources(module, program)
    yield from _without_seed(module, program)
    yield from _reseeded(module, program)
    yield from _drawn_by_default(module, program)


def _from_sources(module: Module, program: Program) -> Iterator[Draft]:
    """One finding per value in this file, however many generators are seeded from it."""
    found: dict[ast.expr, tuple[Source, list[Seeding]]] = {}
    for seeding in seeds_anew(module.facts, program):
        here = [s for s in seeding.sources if s.scope.facts is module.facts]
        for value, source in {whole_value(s, seeding, program): s for s in reversed(here)}.items():
            found.setdefault(value, (source, []))[1].append(seeding)
        if not here and not is_helper(seeding.scope.function, program):
            source = seeding.sources[0]
            place = Place(source.scope.facts, source.node, f"the seed comes from {source.what} here")
            yield Draft(seeding.call, _values(seeding, source), related=(place,))
    imported = clocks(module.facts) if found else []
    for value, (source, seedings) in found.items():
        yield _chosen(value, source, seedings, imported, program)


def _values(seeding: Seeding, source: Source) -> dict[str, str]:
    return {"call": seeding.scope.facts.text(seeding.call.func), "what": source.what}


def _chosen(
    value: ast.expr, source: Source, seedings: list[Seeding], imported: Sequence[Clock], program: Program
) -> Draft:
    facts = source.scope.facts
    direct = any(a is seedings[0].call for a in facts.ancestors(value))
    is_hash = tells_apart(source.node)  # each call still draws its own numbers
    edits = () if is_hash and _is_new(source, program) else seed_edits(program, value, source, seedings)
    at_value = bool(edits) and edits[0].range == facts.range(value)
    places = [(value, source.scope)] if at_value else [(s.call, s.scope) for s in seedings]
    varies = is_hash or is_worker_init(source.scope)
    if not varies and edits:
        is_meant = _is_meant(facts, value) or _is_to_vary(facts)
        if is_meant or any(runs_often(program, *place) for place in places):
            edits = ()
    edits = (*edits, *imports_left_over(edits, imported, facts, program)) if imported else edits
    return Draft(
        value,
        _values(seedings[0], source),
        "shown" if not direct and _is_shown(facts, value) else None,
        related=() if direct else tuple(Place(s.scope.facts, s.call, "used as a seed here") for s in seedings),
        edits=edits,
        unsafe=not varies
        and (
            _is_per_process(source, program)
            or _stands_in(value, source, seedings, program)
            or _names_run(facts, value)
            or (_kept(facts, program) and any(_undoes(s.call, s.scope, program) for s in seedings))
            or _goes_on(source)
            or not all(runs_once(program, *p) for p in places)
        ),
    )


def _is_new(source: Source, program: Program) -> bool:
    """Whether what is hashed is new in every run itself, so that another hash would not help."""
    hashed = source.node.args if isinstance(source.node, ast.Call) else []
    return any(Entropy(program).sources(value, source.scope) for value in hashed)


def _undoes(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether the same function has seeded the generator above, with another seed, for what it drew itself: with a
    constant in its place, what comes after would draw that again."""
    known = _kept(scope.facts, program)
    kept = known.get((scope.function, _generator(call))) if known else None
    return kept is not None and start_of(kept[0]) < start_of(call) and not are_exclusive(kept, (call, scope))


def _is_asked_for(call: ast.Call, scope: Scope) -> bool:
    """Whether the program comes by where its user asks for another seed each time: `if seed == "random":`."""
    tests = (node for c in conditions(call, scope) for node in walk(c.test))
    texts = (node.value for node in tests if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return any("random" in text.lower() for text in texts)


@remembered
def _kept(facts: ModuleFacts, program: Program) -> dict[tuple[Scope, str], CallSite]:
    """The first call in each function that seeds a generator, as it is written, with a seed that is not new."""
    anew = {seeding.call for seeding in seeds_anew(facts, program)}
    made = [site for name in ("seed", "manual_seed") for site in facts.calls.get(name, ()) if site[0] not in anew]
    found: dict[tuple[Scope, str], CallSite] = {}
    for call, scope in sorted(made, key=lambda site: start_of(site[0])):
        given = call.args[:1] or [k.value for k in call.keywords]
        if given and getattr(given[0], "value", given) is not None:
            found.setdefault((scope.function, _generator(call)), (call, scope))
    return found


def _generator(call: ast.Call) -> str:
    """What a call seeds, by its last name: `cuda` of `torch.cuda.manual_seed(1)`."""
    return last_name(call.func.value if isinstance(call.func, ast.Attribute) else call.func)


def _goes_on(source: Source) -> bool:
    """Whether the function that seeds loads a checkpoint: a run that goes on from there with a constant would draw what
    it drew before."""
    function = source.scope.function
    loads = (scope.function for name in sorted(_LOADS) for _, scope in source.scope.facts.calls.get(name, ()))
    return source.scope.kind != "module" and function in loads


def _stands_in(value: ast.expr, source: Source, seedings: list[Seeding], program: Program) -> bool:
    """Whether the seed stands in for one that its user did not give, who may want another one each time: it becomes the
    option, or the program tells it, so that it can be given the next time; or it is that of one of several objects."""
    facts = source.scope.facts
    match facts.statement(value):
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            is_kept = True
        case ast.Expr() as statement:
            is_kept = facts.parents[statement] is not facts.tree or isinstance(facts.parents[value], ast.IfExp)
        case _:
            is_kept = _is_shown(facts, value) or _are_for_objects(source, seedings, program)
    return is_kept and any(about_seed(c.test) for c in conditions(value, source.scope))


def _are_for_objects(source: Source, seedings: list[Seeding], program: Program) -> bool:
    """Whether a seed is drawn for generators of objects: these are then to differ from each other, and where the
    generator is seeded that it is drawn from, they differ alike in every run."""
    is_drawn = source.scope.kind == "function" and draw_at(source.node, source.scope, program) is not None
    return is_drawn and all(_seeds_an_object(s.call, s.scope, program) for s in seedings)


def _seeds_an_object(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`RandomState(seed)`, `generator.manual_seed(seed)`"""
    name = program.callee(call, scope)
    is_of_object = isinstance(call.func, ast.Attribute) and call.func.attr in ("seed", "manual_seed")
    return name in catalogue.names("generators", "generators") or (is_of_object and not is_seeder(name))


def _names_run(facts: ModuleFacts, value: ast.expr) -> bool:
    """Whether a name is made of the variable that the seed is kept in: with a constant, all runs would share it."""
    variables = _variables(facts, value)
    return bool(variables) and not _named_after(facts).isdisjoint(variables)


@remembered_in_file
def _named_after(facts: ModuleFacts) -> frozenset[str]:
    """The variables of which a file makes texts that are more than shown: `self.version = str(self.seed)`,
    `makedirs(f"runs/{seed}")`; or that it keeps under a key or in a row, or returns: `{"seed": seed}`."""
    texts = (n for call, _ in (*facts.calls.get("str", ()), *facts.calls.get("format", ())) for n in call.args)
    kept = [n for n in texts if isinstance(facts.statement(n), ast.Assign)]
    for node in walk(facts.tree):
        match node:
            case ast.Dict(values=values):
                kept += values
            case ast.FormattedValue(value=value) if not _is_in_shown(facts, node):
                kept.append(value)
            case ast.Call(func=ast.Name(id="dict"), keywords=given):
                kept += (keyword.value for keyword in given)
            case ast.Call(args=[ast.List(elts=row) | ast.Tuple(elts=row)]) if last_name(node.func) in _ADDS_ROWS:
                kept += row
            case ast.Return(value=ast.Name() as value) if not _is_dropped(facts, node):
                kept.append(value)
    return frozenset(ast.unparse(n) for n in kept if isinstance(n, ast.Name | ast.Attribute))


def _is_in_shown(facts: ModuleFacts, node: ast.AST) -> bool:
    """Whether a part of a text is that of one which is printed or logged."""
    calls = (outer for outer in facts.ancestors(node) if isinstance(outer, ast.Call))
    return any(last_name(call.func) in _SHOWS for call in calls)


def _is_dropped(facts: ModuleFacts, returned: ast.Return) -> bool:
    """Whether the file calls the function, and makes nothing of what it returns."""
    name = next((a.name for a in facts.ancestors(returned) if isinstance(a, ast.FunctionDef)), "")
    calls = facts.calls.get(name, ())
    return bool(calls) and all(isinstance(facts.parents[call], ast.Expr) for call, _ in calls)


def _variables(facts: ModuleFacts, value: ast.expr) -> list[str]:
    statement = facts.statement(value)
    return [ast.unparse(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []


def _is_meant(facts: ModuleFacts, value: ast.expr) -> bool:
    """Whether a comment says that the seed is meant to differ each time: then a person has to decide."""
    line = facts.statement(value).lineno
    comments = [facts.source.line(line).partition("#")[2]]
    while line > 1 and facts.source.line(line - 1).lstrip().startswith("#"):
        line -= 1
        comments.append(facts.source.line(line))
    return any(_MEANT.search(comment) for comment in comments)


@remembered_in_file
def _is_to_vary(facts: ModuleFacts) -> bool:
    """Whether a file answers whoever asks, and trains nothing: with a constant, all would get the same answer. Or
    whether it speaks of passwords and the like, for which nobody may know what is drawn."""
    web = catalogue.table("frameworks")["web"]["packages"]
    answers = "backward" not in facts.calls and not facts.packages.isdisjoint(web)
    return answers or facts.source.matches(_SECRETS)


def _is_per_process(source: Source, program: Program) -> bool:
    """Whether the ranks of one run get different seeds, perhaps on purpose."""
    if not has_ranks(source.scope.facts, program):
        return False
    row = catalogue.names("generators", "entropy").get(program.callee(source.node, source.scope) or "", {})
    return bool(row.get("per_process"))


def _is_shown(facts: ModuleFacts, value: ast.expr) -> bool:
    """Whether the variable that the seed is kept in is printed or logged."""
    return not _shown(facts).isdisjoint(_variables(facts, value))


@remembered_in_file
def _shown(facts: ModuleFacts) -> frozenset[str]:
    """The variables that a file prints or logs."""
    shown = (a for name in _SHOWS for call, _ in facts.calls.get(name, ()) for a in call.args)
    return frozenset(ast.unparse(n) for a in shown for n in walk(a) if isinstance(n, ast.Name | ast.Attribute))


# -- calls that choose a new seed by themselves: `np.random.seed()`, `torch.seed()` -----------------------------------
def _without_seed(module: Module, program: Program) -> Iterator[Draft]:
    """Seeders without a seed, or with None, take one from the operating system."""
    for call in module.calls(NONE_IS_RANDOM.keys()):
        seed = call.argument(NONE_IS_RANDOM[call.name], 0)
        if seed is UNKNOWN or (isinstance(seed, Site) and not _is_none(seed, program)):
            continue
        if not _counts(call, program):
            continue
        text, imports = seed_or_workers(program, call.scope, call.node)
        edits = as_first(call, seed, text)
        if call.facts.packages.isdisjoint(_COMPUTES):
            edits = ()  # whatever it plays or chooses, it trains nothing
        is_idle = is_worker_init(call.scope) and (_never_runs(call.scope) or only_evaluates(call.facts, program))
        unsafe = _is_left_to_a_person(call, program) or is_idle or _is_of_another_framework(call.facts)
        edits = (*edits, *imports) if edits and not _is_repeated(call, program) else ()
        draft = Draft(call.node, {"call": call.written}, "none", edits=edits, unsafe=unsafe)
        given = seed if isinstance(seed, Site) else None
        yield placed(draft, given, program, str(program.project.seed), is_none)


def _is_of_another_framework(facts: ModuleFacts) -> bool:
    """Whether a file computes in another framework, without PyTorch: its generators no such seed reaches."""
    return "torch" not in facts.packages and not facts.packages.isdisjoint(_OTHER_FRAMEWORKS)


def _is_repeated(call: Call, program: Program) -> bool:
    """Whether a seed would give the same numbers again and again: each worker has one of its own."""
    return not is_worker_init(call.scope) and runs_often(program, call.node, call.scope)


def _is_left_to_a_person(call: Call, program: Program) -> bool:
    """Whether a call may run more than once, also in each of several ranks that would draw alike, undo another seed, or
    be what a user asked for."""
    is_of_worker = is_worker_init(call.scope)
    runs_alone = is_of_worker or (runs_once(program, call.node, call.scope) and not has_ranks(call.facts, program))
    return not runs_alone or _undoes(call.node, call.scope, program) or _is_asked_for(call.node, call.scope)


def _never_runs(scope: Scope) -> bool:
    """Whether a lambda is for the workers of a loader that has none."""
    facts = scope.facts
    keyword = facts.parents.get(scope.node) if scope.kind == "lambda" else None
    loader = facts.parents.get(keyword) if keyword is not None else None
    workers = keyword_value(loader, "num_workers") if isinstance(loader, ast.Call) else None
    return isinstance(workers, ast.Constant) and workers.value == 0


def _drawn_by_default(module: Module, program: Program) -> Iterator[Draft]:
    """Options for the seed whose default is drawn anew in each run."""
    for node, scope in module.facts.calls.get("add_argument", ()):
        flag = next((f for f in flags_of(node) if SEED_NAME.fullmatch(attribute_of(f))), None)
        default = keyword_value(node, "default")
        if flag is None or default is None:
            continue
        sources = Entropy(program).sources(default, scope)
        if sources:
            edits = (replace(module.facts, default, str(usual_seed(module.facts, program))),)
            yield Draft(default, {"call": flag, "what": sources[0].what}, "option", edits=edits, unsafe=True)


def _counts(call: Call, program: Program) -> bool:
    """Whether a call seeds what comes after it, unless an option says otherwise."""
    return not cleans_up(call.node, call.scope, program) and reached_by_default(
        call.node, call.scope, program, about_seed
    )


def _is_none(seed: Site, program: Program) -> bool:
    """Whether the seed is None, and no test such as `if seed:` prevents its use."""
    if isinstance(seed.node, ast.Constant):
        return seed.node.value is None
    if conditions(seed.node, seed.scope):
        return False
    values = program.constants(seed.node, seed.scope)
    return bool(values) and all(v is None for v in values or ())


def _reseeded(module: Module, program: Program) -> Iterator[Draft]:
    """Calls that draw a new seed and use it."""
    rows = catalogue.names("generators", "reseeders")
    found = list(module.calls(rows.keys()))
    for node, scope in module.facts.calls.get("seed", ()):
        if not node.args and not node.keywords and _is_on_generator(node, scope, program):
            found.append(Call(node, scope, "torch.Generator.seed", program))
    for call in found:
        if not _forwards(call) and _counts(call, program):
            yield _reseed(call, rows.get(call.name), program)


def _forwards(call: Call) -> bool:
    """Whether `seed()` is what a function of the same name is: an interface over several back ends calls nothing."""
    name = call.scope.function.own_name
    return isinstance(call.facts.parents[call.node], ast.Return) and name == call.written.rpartition(".")[2]


def _is_on_generator(call: ast.Call, scope: Scope, program: Program) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    match call.func.value:
        case ast.Subscript(value=several) if program.qualified(several, scope) == "torch.cuda.default_generators":
            return True
    return "torch.Generator" in program.makers(call.func.value, scope)


def _reseed(call: Call, row: Mapping[str, Any] | None, program: Program) -> Draft:
    """`torch.seed()` becomes `torch.manual_seed(SEED)`, unless its result, the new seed, is used."""
    edits: tuple[Edit, ...] = ()
    if isinstance(call.facts.parents[call.node], ast.Expr) and not _is_repeated(call, program):
        instead = Import(f"{call.written.removesuffix('seed')}manual_seed")
        if row is not None:
            instead = import_name(call.facts, row["instead"], call.scope, call.node)
        seed, more = seed_or_workers(program, call.scope, call.node)
        if call.node.args:  # `torch.seed(7)` takes no number: it was to be this one
            seed, more = call.facts.text(call.node.args[0]), ()
        edits = (replace(call.facts, call.node, f"{instead.text}({seed})"), *instead.edits, *more)
    unsafe = _is_left_to_a_person(call, program)
    return Draft(call.node, {"call": call.written}, "reseed", edits=edits, unsafe=unsafe)
