"""Where TRP101's fix is not safe: what makes it doubtful that the program's author wants these seeds, there, with this
number. Such a fix is offered, and a person decides.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection

from torchrepro_lint import catalogue
from torchrepro_lint.checks.seed_place import Place, divides_data
from torchrepro_lint.dataflow import CallSite, Program, remembered_in_file, start_of
from torchrepro_lint.dataflow.binding import argument_for
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.execution_count import is_called_in_a_loop, runs_often
from torchrepro_lint.dataflow.reaching_definitions import reads
from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope, calls_in, keyword_value, last_name, walk
from torchrepro_lint.project.contents import lies_with_tests
from torchrepro_lint.project.declarations import declarations, names_options_at_run_time, option_names
from torchrepro_lint.rng.draws import draw_at
from torchrepro_lint.rng.own_seed import own_seed, stored_in
from torchrepro_lint.rng.predicates import about_seed
from torchrepro_lint.rng.seeded_before import SEEDS_BY_NAME
from torchrepro_lint.rng.updates import leads_to_update
from torchrepro_lint.rng.usual_seed import has_own_seed, is_configured, is_turned_off, reads_configured
from torchrepro_lint.seeding import cells
from torchrepro_lint.seeding.discarded import is_besides, tells_runs_apart
from torchrepro_lint.seeding.processes import starts_processes
from torchrepro_lint.seeding.seeding import Seeding, SeedMet
from torchrepro_lint.syntax import (
    above_heading,
    below_header,
    divides_paragraph,
    is_below_heading,
    is_below_import,
    is_for_typing,
    joins_others,
    reads_options,
    top_line,
)

_SEEDS = ("seed", "manual_seed")
_TRAINS = re.compile(r"(?:\w+_)?(?:train|fit|learn|backward)(?:_|$)", re.IGNORECASE)
_IMPORTS = (ast.Import, ast.ImportFrom)
_SEEDER = re.compile(r"seed|determinis|reproduc|random|reset", re.IGNORECASE)
_FEW = 3  # names that nothing binds: one or two are an oversight
# Names that need no binding: of Python, of Python 2, and those that IPython and line_profiler add.
_BUILT_IN = frozenset(
    {*dir(builtins), "__file__", "__path__", "__builtins__", "__annotations__", "unicode", "xrange", "raw_input",
     "long", "reduce", "basestring", "file", "unichr", "execfile", "reload", "get_ipython", "display", "profile"}
)  # fmt: skip
_OF_PARTS = re.compile(r"\b(?:splits?|splitting|folds?|partitions?)\b", re.IGNORECASE)
_ROUND = re.compile(r"(?:(?:current|this|last|fl|comm|global)_)+round(?:_(?:num|number|idx|index|id))?", re.IGNORECASE)
_DIFFERS = re.compile(r"\b(?:non-?|not (?:be )?|un|ir)(?:reproducib|repeatab)", re.IGNORECASE)
_TURNED_OFF = re.compile(r"^[\w.]+(?: = [\w.]+)?\(", re.MULTILINE)  # a statement in a string
_OF_MANY = re.compile(r"(?:(?:client|node|partition|party|peer)_?(?:id|idx|index|num|number)|cid)", re.IGNORECASE)
_SETTING = re.compile(
    r"lr|learning_rate|weight_decay|momentum|dropout|batch_size|hidden(?:_(?:size|dim|units))?|(?:n|num)_?layers|depth"
)
_HIDES = r"(?i)\bdifferential(?:ly)?[ _-]?priva|\bdp[_-]?sgd\b"
_REPEATED = re.compile(r"(?:run|trial|member|repetition|replicate)(?:_?(?:id|idx|index|num|number|no))?", re.IGNORECASE)
_IN_ARRAY = r"\b(?:SLURM_ARRAY_TASK_ID|PBS_ARRAY_?(?:ID|INDEX)|SGE_TASK_ID|LSB_JOBINDEX)\b"
_OF_ONE_THING = re.compile(r"(?:split|fold|data|shuffle|env|eval|test|valid|sampl|noise)\w*seed", re.IGNORECASE)


def is_unclear(
    seeding: Seeding, process: Scope | None, families: Collection[str], place: Place, program: Program
) -> bool:
    """Whether seeds at a place may not be what an author would write."""
    facts, statement = place.scope.facts, place.statement
    return (
        _may_be_another_number(seeding, place, program)
        or _is_seeded_further_on(seeding, process, families, place)
        or _draws_options(seeding, families, program)
        or _searches(seeding, families)
        or _has_training_turned_off(seeding, program)
        or _has_seeds_turned_off(seeding, program)
        or _is_one_of_many(seeding.entry.facts)
        or is_one_round(seeding.entry.facts)
        or _is_private(seeding)
        or repeats_names(seeding, families, place.scope, statement, program)
        or _has_no_number(seeding, program)
        or _tells_new_seed(seeding)
        or _picks_what_is_shown(seeding, families, program)
        or ("torch" in families and any(map(is_of_torch, seeding.met)))
        or _has_seeder(facts, program)
        or _lacks_names(facts)
        or _belongs_in_seeder(seeding, process, families, program)
        or (process is None and any(seeding.calls("share_memory")) and starts_processes(seeding, program))
        or lies_with_tests(seeding.entry.facts)
        or is_turned_off({seeding.entry.facts.source.path}, program)
        or _may_be_missing(families, facts)
        or _imports_late(facts)
        or _loads_late(seeding)
        or _is_said_to_differ(place)
        or _is_among_alternatives(place)
        or _is_headed(place)
        or _is_among_imports(facts, statement)
        or (place.own is None and not place.is_after and _stands_within(place))
        or (bool(facts.source.cells) and not cells.is_for_training(statement, facts, program))
        or (bool(facts.source.cells) and _is_above_torch(facts, statement))
    )


def _stands_within(place: Place) -> bool:
    """Whether other statements of its paragraph stand above a place, in a notebook also if a comment heads what
    follows; or the program reads its options below."""
    facts, statement = place.scope.facts, place.statement
    is_below_others = bool(facts.source.cells) and joins_others(facts, statement)
    return divides_paragraph(facts, statement) or is_below_others or _is_above_options(place)


def warns(met: SeedMet) -> bool:
    """Whether who gives a seed is warned: whether all should be is not ours to say."""
    tests = (c.owner for c in conditions(met.node, met.scope) if about_seed(c.test))
    return any(last_name(call.func) in catalogue.names("callables", "warns") for call in calls_in(*tests))


def _may_be_another_number(seeding: Seeding, place: Place, program: Program) -> bool:
    """Whether a seed stands in for one that was not given, which its user may not want, is changed in the function that
    reads it, or is a number for the program's own seed, which was missed."""
    if place.own is not None:
        return place.own.option.off == "None" or place.own.read in stored_in(place.scope.function)
    elsewhere = catalogue.table("callables")["settings_elsewhere"]["packages"]
    if any(not facts.packages.isdisjoint(elsewhere) for facts in seeding.visited):
        return has_own_seed(program.project.text.containing("seed") or (), program)
    if any(map(names_options_at_run_time, seeding.visited)) and is_configured(program):
        return True
    if reads_configured(seeding.visited, program):
        return True  # from another file, or further in
    return has_own_seed({facts.source.path for facts in seeding.visited}, program)


def _draws_options(seeding: Seeding, families: Collection[str], program: Program) -> bool:
    """Whether the program draws the values of its own options or settings, as in a search in which each run tries
    others: `args.lr = random.random()`."""
    options = sorted({name for facts in seeding.visited for name in option_names(facts)})
    sets = (made for facts in seeding.visited for name in options for made in facts.attribute_sets.get(name, ()))
    theirs = (made for made in sets if ast.unparse(made.target.value) != "self")
    if any(made.value is not None and _is_drawn(made.value, made.scope, families, program) for made in theirs):
        return True
    sites = (site for facts in seeding.visited for site in _named_as_draws(facts) if seeding.runs(*site))
    return any(_is_tried(*site, families, program) for site in sites)


def _is_tried(call: ast.Call, scope: Scope, families: Collection[str], program: Program) -> bool:
    """Whether a run draws one of its own settings, by its name, a single time: `lr = 10 ** random.uniform(-4, -1)`."""
    statement = scope.facts.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_setting = any(isinstance(t, ast.Name) and _SETTING.fullmatch(t.id) for t in targets)
    if not is_setting or runs_often(program, call, scope):
        return False
    draw = draw_at(call, scope, program)
    return draw is not None and draw.kind == "sample" and draw.family != "torch" and draw.family in families


def _searches(seeding: Seeding, families: Collection[str]) -> bool:
    """Whether the program tries out some settings that it draws: run again, it is to try out others."""
    calls = (call for call, _ in seeding.calls("ParameterSampler"))
    return "numpy" in families and any(all(k.arg != "random_state" for k in call.keywords) for call in calls)


@remembered_in_file
def is_one_round(facts: ModuleFacts) -> bool:
    """Whether a program trains for one round of a training that goes on the next time it is run, with a model that it
    reads: `current_round = int(path.stem)`. With a constant seed all rounds would have one order."""
    if "load_state_dict" not in facts.calls:
        return False
    held = (bound for s in facts.scope.descend() for name, bound in s.bindings.items() if _ROUND.fullmatch(name))
    return any(b.kind == "assign" and isinstance(b.value, ast.Call | ast.Attribute) for bound in held for b in bound)


def _is_private(seeding: Seeding) -> bool:
    """Whether noise is to hide what the data are: who knows the seed can take it away."""
    packages = catalogue.table("frameworks")["private"]["packages"]
    return any(not f.packages.isdisjoint(packages) or f.source.matches(_HIDES) for f in seeding.visited)


def _has_training_turned_off(seeding: Seeding, program: Program) -> bool:
    """Whether all that trains in the file of a program is turned off by a constant: `IS_TRAINING = False`. Then it is
    about something else, such as a game."""
    facts = seeding.entry.facts
    sites = [site for name in filter(_TRAINS.match, facts.calls) for site in facts.calls[name]]
    return bool(sites) and all(_is_off(call, scope, program) for call, scope in sites)


def _has_seeds_turned_off(seeding: Seeding, program: Program) -> bool:
    """Whether a constant turns a seed off that the program has: `deterministic = False`, `if deterministic:`."""
    sites = (site for facts in seeding.visited for name in _SEEDS for site in facts.calls.get(name, ()))
    return any(_is_off(call, scope, program) for call, scope in sites)


def _is_one_of_many(facts: ModuleFacts) -> bool:
    """Whether a program is told which of several it is that learn together, `--client-id`, or that are averaged, by a
    number, `--run 3`, also that of a task in an array of jobs: all would draw alike."""
    if any(map(_OF_MANY.fullmatch, option_names(facts))) or facts.source.matches(_IN_ARRAY):
        return True
    return any(_is_number(name, facts) for name in option_names(facts) if _REPEATED.fullmatch(name))


def _is_number(option: str, facts: ModuleFacts) -> bool:
    """Whether an option is declared as a whole number."""
    types = (keyword_value(call, "type") for call, _ in declarations(option, facts))
    return any(isinstance(kind, ast.Name) and kind.id == "int" for kind in types)


def _is_off(call: ast.Call, scope: Scope, program: Program) -> bool:
    named = (c for c in conditions(call, scope) if isinstance(c.test, ast.Name))
    return any(program.literal(c.test, scope) is (not c.holds) for c in named)


def _is_drawn(value: ast.expr, scope: Scope, families: Collection[str], program: Program) -> bool:
    """Whether a number is drawn for a value, or for a name in it."""
    named = (b.value for n in walk(value) if isinstance(n, ast.Name) for b in scope.bindings_of(n))
    calls = calls_in(value, *(v for v in named if v is not None))
    draws = (draw_at(call, scope, program) for call in calls)
    samples = (d for d in draws if d is not None and d.kind == "sample" and d.family in families)
    return any(not is_besides(d, program) for d in samples)


def repeats_names(
    seeding: Seeding, families: Collection[str], scope: Scope, statement: ast.AST, program: Program
) -> bool:
    """Whether seeds at a statement of `scope` stand above a draw that is there for runs to differ in, as in the name of
    a run."""
    sites = (site for facts in seeding.visited for site in _named_as_draws(facts) if seeding.runs(*site))
    draws = (draw_at(c, s, program) for c, s in sites)
    told = (d for d in draws if d is not None and d.family in families and tells_runs_apart(d, program))
    return any(d.scope is not scope or d.node.lineno > start_of(statement)[0] for d in told)


@remembered_in_file
def _named_as_draws(facts: ModuleFacts) -> tuple[CallSite, ...]:
    """The calls of a file whose last names are those of draws."""
    names = {name.rpartition(".")[2] for name in catalogue.names("rng", "draws")}
    return tuple(site for name in sorted(facts.calls.keys() & names) for site in facts.calls[name])


def _has_no_number(seeding: Seeding, program: Program) -> bool:
    """Whether the program would seed if one of its names held a number: `seed = None`, `if seed is not None:`; or any
    but 0: `seed = 0`, `if seed:`; or if it passed one for a parameter, `def train(seed=-1):`."""
    for call, scope in seeding.calls(*_SEEDS):
        for name in (a for a in call.args[:1] if isinstance(a, ast.Name)):
            made = [getattr(b.value, "value", b) for b in scope.bindings_of(name) if b.kind == "assign"]
            if None in made or (0 in made and _is_asked_for_truth(name, scope)):
                return True
            if _is_left_out(name, scope, seeding, program):
                return True
    return False


def _picks_what_is_shown(seeding: Seeding, families: Collection[str], program: Program) -> bool:
    """Whether a generator that is no tensors' is first drawn from where a model is only used: it picks what is shown,
    `start = np.random.randint(len(texts))`, another one each time."""
    found = (seeding.unseeded_draw(family) for family in families if family != "torch")
    functions = [first.draw.scope.function for first, _ in filter(None, found)]
    using = [f for f in functions if any(last_name(call.func) == "eval" and not call.args for call, _ in f.calls)]
    return any(f.kind == "function" and not leads_to_update(f, program) for f in using)


def _tells_new_seed(seeding: Seeding) -> bool:
    """Whether the program takes a new seed and keeps the number, which seeds below would make untrue:
    `print(torch.seed())`."""
    taken = (site for site in seeding.calls("seed") if not site[0].args and not site[0].keywords)
    return any(_is_kept(*site) for site in taken)


def _is_kept(call: ast.Call, scope: Scope) -> bool:
    """Whether something is made of what a call returns."""
    match scope.facts.parents[call]:
        case ast.Expr():
            return False
        case ast.Assign(targets=[ast.Name(id=name)]):
            return bool(reads(name, scope))
    return True


def _is_left_out(name: ast.Name, scope: Scope, seeding: Seeding, program: Program) -> bool:
    """Whether a name is a parameter that is no seed by default, and the program leaves it out in a call."""
    function = scope.function
    defaults = [b.value for b in function.bindings.get(name.id, ()) if b.kind == "parameter"]
    if function.kind != "function" or not any(map(_is_no_seed, defaults)):
        return False
    calls = (site for site in program.callers_of(function) or () if seeding.runs(*site))
    return any(argument_for(call, function, name.id) is None for call, _ in calls)


def _is_no_seed(default: ast.expr | None) -> bool:
    """`None`, `-1`"""
    return isinstance(default, ast.UnaryOp) or (isinstance(default, ast.Constant) and default.value is None)


def _is_asked_for_truth(name: ast.Name, scope: Scope) -> bool:
    """Whether code runs only if the value of a name is true, as 0 is not."""
    return any(c.holds and ast.unparse(c.test) == name.id for c in conditions(name, scope))


def is_of_torch(met: SeedMet) -> bool:
    """Whether a function seeds with what torch was seeded with: where nothing did, that is new on every run."""
    asking = (scope.function for _, scope in met.scope.facts.calls.get("initial_seed", ()))
    return met.scope.function in asking


def _has_seeder(facts: ModuleFacts, program: Program) -> bool:
    """Whether the file imports a function of the project that seeds, by its name, and has forgotten to call it."""
    told = (name for name in facts.scope.bindings if SEEDS_BY_NAME.search(name))
    names = [name for name in told if name not in facts.calls]
    return any(isinstance(program.names.lookup(name, facts.scope), Scope) for name in names)


@remembered_in_file
def _lacks_names(facts: ModuleFacts) -> bool:
    """Whether a file calls a function that seeds, by its name, and has forgotten to import it; or a script reads names
    that nothing binds: it is a part of something, or a sketch."""
    if facts.star_imports:
        return False
    calls = (
        (call.func, scope) for name in facts.calls if SEEDS_BY_NAME.search(name) for call, scope in facts.calls[name]
    )
    if any(isinstance(f, ast.Name) and scope.binding_scope(f.id) is None for f, scope in calls):
        return True
    is_open = bool(facts.source.cells) or facts.source.matches(r"\bNameError\b|\bglobals\(|\bexec\(")
    nodes = () if is_open else walk(facts.tree)
    read = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in _BUILT_IN)
    scopes = ((n.id, facts.scope_of(n)) for n in read)
    missing = {name for name, scope in scopes if scope.function.kind == "module" and scope.binding_scope(name) is None}
    return len(missing) >= _FEW


def _belongs_in_seeder(seeding: Seeding, process: Scope | None, families: Collection[str], program: Program) -> bool:
    """Whether a function seeds other generators again and again, for each of several runs: the missing ones belong
    there. What seeds the workers of a loader says nothing of the runs."""
    return any(
        met.process is process
        and met.seeder is not None
        and _SEEDER.search(met.scope.function.own_name) is not None
        and "worker" not in met.scope.function.own_name
        and set(families).isdisjoint(met.seeder.families)
        and is_called_in_a_loop(met.scope.function, program)
        for met in seeding.met
    )


def _imports_late(facts: ModuleFacts) -> bool:
    """Whether a file imports torch in functions alone where it needs it, and at its top not or for annotations: it
    should load without torch."""
    held = [facts.parents.get(b.node) for b in facts.imports if b.target.partition(".")[0] == "torch"]
    is_late = any(is_for_typing(h) or isinstance(h, ast.FunctionDef) for h in held)
    return is_late and all(is_for_typing(h) or isinstance(h, ast.FunctionDef) for h in held)


def _may_be_missing(families: Collection[str], facts: ModuleFacts) -> bool:
    """Whether a file does without numpy where it is not installed, or imports it for one of its uses only:
    `except ImportError: np = None`."""
    held = [facts.parents.get(b.node) for b in facts.imports if b.target.partition(".")[0] == "numpy"]
    return "numpy" in families and bool(held) and all(isinstance(h, ast.If | ast.Try) for h in held)


def _loads_late(seeding: Seeding) -> bool:
    """Whether a file leaves it to its functions to import what uses torch, as a command line with several commands
    does: it should begin without."""
    facts = seeding.entry.facts
    if "torch" in facts.packages or facts.source.cells:
        return False
    late: set[str] = set()
    early: set[str] = set()
    for made in facts.imports:
        is_late = any(isinstance(above, FunctionNode) for above in facts.ancestors(made.node))
        (late if is_late else early).add(made.target.partition(".")[0])
    using = [set(f.source.rel.removesuffix(".py").split("/")) for f in seeding.visited if "torch" in f.packages]
    return any(late & parts for parts in using) and not any(early & parts for parts in using)


def _is_said_to_differ(place: Place) -> bool:
    """Whether a comment in the block above the seeds says that a run is not to repeat: "a non-reproducible run"."""
    facts, statement = place.scope.facts, place.statement
    begins = getattr(facts.parents.get(statement), "lineno", 0)
    return any(_says(_DIFFERS, facts, n) for n in range(begins + 1, statement.lineno))


def _says(words: re.Pattern[str], facts: ModuleFacts, line: int) -> bool:
    """Whether a comment in a line has one of the words."""
    return words.search(facts.source.line(line).partition("#")[2]) is not None


def _is_among_alternatives(place: Place) -> bool:
    """Whether a script turns its parts on and off by quotes around them, one above the place and one below: the seeds
    would go with the part that is on now."""
    facts, statement = place.scope.facts, place.statement
    if facts.parents.get(statement) is not facts.tree:
        return False
    off = [s.lineno for s in facts.tree.body if _is_turned_off(s)]
    return bool(off) and off[0] < statement.lineno < off[-1]


def _is_turned_off(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return "\n" in text and _TURNED_OFF.search(text) is not None
    return False


def _is_headed(place: Place) -> bool:
    """Whether a heading above the statement would then head the seeds, which cannot stand above it."""
    facts, statement = place.scope.facts, place.statement
    if above_heading(facts, statement) is not None:
        return False
    if place.is_after or (place.own is None and below_header(facts, statement) is not None):
        return False
    return is_below_heading(facts, statement)


def _is_among_imports(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a script goes on with imports after a statement, or has one right above it and below other code: an
    author would put them first."""
    if facts.source.cells or facts.parents.get(statement) is not facts.tree:
        return False
    body = facts.tree.body
    index = body.index(statement)
    if any(isinstance(s, _IMPORTS) for s in body[index:]):
        return True
    return is_below_import(facts, statement) and any(map(_is_of_program, body[:index]))


def _is_above_torch(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a notebook imports torch only in a cell below: what is above it only prepares or tries something out."""
    lines = [
        b.node.lineno for b in facts.imports if b.target.partition(".")[0] == "torch" and hasattr(b.node, "lineno")
    ]
    return bool(lines) and statement.lineno < min(lines)


def _is_of_program(statement: ast.stmt) -> bool:
    """Whether a statement is more than what stands between imports: paths, warnings, the environment."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return not name.startswith("__")
    return isinstance(statement, ast.FunctionDef | ast.ClassDef)


def _is_above_options(place: Place) -> bool:
    """Whether the program reads its options only after the seeds, of which one may be the seed some day."""
    body: list[ast.stmt] = getattr(place.scope.facts.parents.get(place.statement), "body", [])
    following = body[body.index(place.statement) :] if place.statement in body else []
    return any(isinstance(s, ast.Assign) and reads_options(s) for s in following)


def is_for_something_else(met: SeedMet, program: Program) -> bool:
    """Whether a seed is not that of the whole program: by its name, `split_seed`, by a comment, or because what is
    drawn right below it is what it is for, as where data are shuffled. An option of the program is for all of it."""
    facts = met.scope.facts
    statement = facts.statement(met.node)
    if divides_data(met.scope, program):
        return True
    if any(_says(_OF_PARTS, facts, n) for n in range(top_line(facts, statement), statement.lineno)):
        return True
    if met.seeder is not None and met.seeder.seed is not None:
        if _OF_ONE_THING.search(last_name(met.seeder.seed)) is not None:
            return True
        own = own_seed(met.scope, statement, program)
        if own is not None and own.is_parsed and own.read == facts.text(met.seeder.seed):
            return False
    body: list[ast.stmt] = getattr(facts.parents[statement], "body", [])
    following = body[body.index(statement) + 1 :][:2] if statement in body else []
    for below in following:
        if below.lineno > (statement.end_lineno or 0) + 1 or not isinstance(below, ast.Expr | ast.Assign):
            return False
        draws = (draw_at(call, met.scope, program) for call in calls_in(below))
        if any(draw is not None and draw.kind == "order" for draw in draws):
            return True
        if not isinstance(below, ast.Assign):
            return False
        statement = below  # `indices = np.arange(n)`, which is shuffled below
    return False


def _is_seeded_further_on(seeding: Seeding, process: Scope | None, families: Collection[str], place: Place) -> bool:
    """Whether the process seeds one of the generators somewhere itself, or others with the same seed, but only with
    some, as by `if args.seed > 0:`: why that does not suffice, or when all should be seeded, is for its author."""
    here = (met for met in seeding.met if met.process is process)
    return any(_seeds_any_of(met, families) or _is_asked_of_seed(met, place) for met in here)


def _seeds_any_of(met: SeedMet, families: Collection[str]) -> bool:
    return met.seeder is not None and not set(met.seeder.families).isdisjoint(families)


def _is_asked_of_seed(met: SeedMet, place: Place) -> bool:
    """Whether the program's seed decides whether it is used."""
    seed = met.seeder.seed if met.seeder is not None else None
    is_own = seed is not None and place.own is not None and met.scope.facts.text(seed) == place.own.read
    return is_own and any(about_seed(c.test) for c in conditions(met.node, met.scope))
