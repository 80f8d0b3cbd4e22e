"""How the seed of a program has to depend on the rank of its process: not at all, or so that what each draws differs;
and which draws no seed of the program reaches.

Ranks that draw latents, noise or samples of their own from one stream do the same work many times. Ranks that split or
shuffle the data among themselves must agree on how.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import CallSite, Program, calls_like
from torchrepro_lint.dataflow.execution_count import is_called_in_a_loop
from torchrepro_lint.index import Scope, calls_in, last_name, names_in
from torchrepro_lint.loading.loaders import loader_calls, shuffling
from torchrepro_lint.loading.same_order import differs_by_rank
from torchrepro_lint.project import roles
from torchrepro_lint.project.declarations import declared_options
from torchrepro_lint.rng.draws import Draw, draw_at
from torchrepro_lint.rng.own_seed import added
from torchrepro_lint.seeding.callees import FRESH_STARTS, NUMBERING, is_parameter
from torchrepro_lint.seeding.discarded import is_besides
from torchrepro_lint.seeding.seeding import TRAINS, Seeding, Witness
from torchrepro_lint.seeding.unfollowed import opaque

_SPLITS = frozenset({"random_split", "randperm"})
_BUILDS = re.compile(r"^[A-Z]|^$|model|build|create|load|instantiate")
_FOR_EACH_SAMPLE = frozenset({"__getitem__", "__call__", "forward"})
_SHARDS = ("fully_shard", "parallelize_module", "distribute_tensor", "init_device_mesh", "build_mesh")
_SHARDED = "FullyShardedDataParallel"
_SHARDING = frozenset({_SHARDED, "FSDP"})
_LAUNCHES = ("launch", "notebook_launcher")
_JOIN = "torch.distributed.init_process_group"


class RankSeed(NamedTuple):
    """What is added to the seed, if anything; `variable` is the environment variable that it is to be read from.
    `is_out_of_reach` says that there are ranks, which the program numbers in a way of its own; `is_alike` that all get
    one seed, with which they augment their samples alike, or begin alike what each does by itself."""

    added: str = ""
    variable: str = ""
    is_out_of_reach: bool = False
    is_alike: bool = False

    def of(self, seed: str) -> str:
        """The seed of a process."""
        if not self.added:
            return seed
        return self.added if seed == "0" else added(seed, self.added)


def rank_seed(
    seeding: Seeding, process: Scope | None, program: Program, missing: Collection[Witness]
) -> RankSeed | None:
    """How the seed of a process depends on its rank; None where a person has to decide. `missing` are draws that are
    not seeded, some of which loaders alone lead to."""
    rank = _rank_of_process(seeding, process, program) if process is not None else _rank_in_group(seeding)
    if rank is None or not (_draws_apart(seeding, program) or _shuffles_apart(seeding, program)):
        is_hidden = rank is not None and rank.added and any(_may_build(*s, program) for s in opaque(seeding, program))
        is_open = rank is not None and (rank.added or rank.is_out_of_reach) and _is_undecided(seeding, missing, program)
        return None if is_hidden or is_open else _shared(rank, seeding, program)
    return None if not rank.added or _agrees(seeding, program) else rank


def _shared(rank: RankSeed | None, seeding: Seeding, program: Program) -> RankSeed:
    """One seed for all ranks; their own where they only augment samples, and draw nothing that they must share."""
    if rank is not None and rank.is_alike:
        return rank
    if rank is None or not (rank.added or rank.is_out_of_reach) or not _augments(seeding, program):
        return RankSeed()
    return rank if rank.variable and not _agrees(seeding, program) else RankSeed(is_alike=True)


def _rank_of_process(seeding: Seeding, process: Scope, program: Program) -> RankSeed | None:
    """The first parameter of what `mp.spawn` runs. Processes that are started otherwise are numbered by no one; several
    that take their tasks from a queue may be meant to do each of them with other numbers."""
    spawned = _is_spawned(seeding, process, program)
    arguments = process.node.args.args if isinstance(process.node, ast.FunctionDef) else []
    if spawned and arguments:
        return RankSeed(arguments[0].arg)
    return RankSeed(is_alike=not spawned and _takes_tasks(process) and is_called_in_a_loop(process, program))


def _is_spawned(seeding: Seeding, process: Scope, program: Program) -> bool:
    return any(
        program.callee(call, scope) in NUMBERING
        and (process in (f for _, f in program.given(call, scope)) or _is_handed_on(call, scope))
        for facts in seeding.visited
        for call, scope in calls_like(NUMBERING, facts)
    )


def is_spawned_for_each_run(seeding: Seeding, process: Scope, program: Program) -> bool:
    """Whether a loop runs `mp.spawn`, which starts all processes of one run: with one seed, all runs would be alike."""
    return is_called_in_a_loop(process, program) and _is_spawned(seeding, process, program)


def _takes_tasks(process: Scope) -> bool:
    """`task = tasks.get()`, of a queue that the process is given."""
    for call, scope in process.facts.calls.get("get", ()):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name() as queue), args=[]):
                if scope.function is process and is_parameter(queue, scope, process):
                    return True
    return False


def _is_handed_on(call: ast.Call, scope: Scope) -> bool:
    """`spawn(f, ...)` in a function that is given `f`."""
    return any(isinstance(value, ast.Name) and is_parameter(value, scope, scope.function) for value in call.args[:1])


def _rank_in_group(seeding: Seeding) -> RankSeed | None:
    """The rank that a launcher puts into the environment; None for a program by itself. A library that joins the
    processes has rules of its own for what they share; one that is started by several launchers has several ranks.
    The trainers of Lightning and transformers give all ranks one seed themselves."""
    groups = catalogue.names("distributed", "groups")
    joins = list(seeding.calls_of(groups))
    joins += [(call, _JOIN) for call, _ in seeding.calls(_JOIN.rpartition(".")[2])]
    if not joins:
        keys = ("accelerators", "fabrics")
        joining = [name for key in keys for name in catalogue.names("frameworks", key)]
        return RankSeed() if any(seeding.calls_of(joining)) else None
    told = [item.value for facts in seeding.visited for item in facts.subscript_sets.get("RANK", ())]
    if told and all(isinstance(value, ast.Constant) for value in told):
        return RankSeed()  # `os.environ["RANK"] = "0"`: no launcher has put it there
    if told:
        return RankSeed(is_out_of_reach=True)
    if any(seeding.calls(*_SHARDS)) or _shards_a_model(seeding):
        return RankSeed(is_out_of_reach=True)  # its parameters are drawn in parts, which have to agree
    variables = {groups[name].get("variable", "") for _, name in joins}
    given = [k for call, _ in joins for k in call.keywords]
    numbered = any(k.arg == "rank" or k.arg is None or _meets_elsewhere(k, seeding) for k in given)
    if numbered or len(variables) > 1 or "" in variables:
        return RankSeed(is_out_of_reach=True)
    return RankSeed("rank", variables.pop())


def _shards_a_model(seeding: Seeding) -> bool:
    """Whether FSDP keeps of the weights that each rank draws its own part, and has not been told to send those of the
    first to all: `sync_module_states=True`."""
    sites = seeding.calls(*sorted(_SHARDING))
    calls = [call for call, scope in sites if (seeding.program.callee(call, scope) or "").endswith(_SHARDED)]
    told = ({k.arg: k.value for k in call.keywords} for call in calls)
    return any(None not in given and not _is_on(given.get("sync_module_states")) for given in told)


def _is_on(value: ast.expr | None) -> bool:
    return value is not None and not (isinstance(value, ast.Constant) and not value.value)


def _meets_elsewhere(given: ast.keyword, seeding: Seeding) -> bool:
    """Whether processes join by an address of their own, for which no launcher has numbered them:
    `init_method="tcp://..."`, or an option that is one by default."""
    if given.arg != "init_method":
        return False
    options = [declared_options(facts).get(last_name(given.value)) for facts in seeding.visited]
    values = [getattr(given.value, "value", None), *(option.value for option in options if option is not None)]
    return any(isinstance(value, str) and value.startswith(("tcp://", "file://")) for value in values)


def starts_processes(seeding: Seeding, program: Program) -> bool:
    """Whether a program may start processes that begin by running its modules again."""
    if any(seeding.calls("Process", "spawn", "start_processes")):
        return True
    classes = (c for facts in seeding.visited for c in facts.scope.children.values() if c.kind == "class")
    return any(base.endswith("multiprocessing.Process") for c in classes for base in program.external_bases(c))


def starts_fresh_processes(seeding: Seeding, program: Program) -> bool:
    """Whether a program says that its processes are to begin anew, with nothing that the first one has set:
    `set_start_method("spawn")`."""
    chosen = (call for call, _ in seeding.calls("set_start_method", "get_context"))
    told = (value for call in chosen for value in (*call.args[:1], *(k.value for k in call.keywords)))
    is_fresh = any(isinstance(v, ast.Constant) and v.value in FRESH_STARTS for v in told)
    return is_fresh and starts_processes(seeding, program)


def in_launched(witness: Witness, program: Program) -> bool:
    """Whether a library that is not in sight runs what draws, in processes of its own or in this one, as it is told:
    `launch(main, args.gpus)` of detectron2."""
    called = ((step.node.func, step.scope) for step in witness.chain if isinstance(step.node, ast.Call))
    launches = (site for site in called if last_name(site[0]) in _LAUNCHES)
    return any(not isinstance(program.resolve(*site), Scope) for site in launches)


def in_pool(witness: Witness, program: Program) -> bool:
    """Whether a worker of a pool draws: one that is forked begins with the state of its parent, and Python's generator
    is seeded anew in it; which worker has which task is a matter of time."""
    pools = catalogue.names("order", "pools")
    return any(
        not pools.keys().isdisjoint(program.makers(step.node.func.value, step.scope))
        for step in witness.chain
        if isinstance(step.node, ast.Call) and isinstance(step.node.func, ast.Attribute)
    )


def in_forked(witness: Witness) -> bool:
    """Whether a process that begins with the state of its parent draws from Python's generator: that one is seeded anew
    in each fork, see the end of CPython's `random.py`."""
    calls = (step.node for step in witness.chain if isinstance(step.node, ast.Call))
    return witness.draw.family == "python" and any(last_name(call.func) == "Process" for call in calls)


def _draws_apart(seeding: Seeding, program: Program) -> bool:
    """Whether anything is sampled again and again while the program runs: latents, noise, batches that are made up."""
    draws = _samples(seeding, program)
    return any(_is_repeated(draw.node, draw.scope, program) or _is_whole_sample(draw.scope) for draw in draws)


def _shuffles_apart(seeding: Seeding, program: Program) -> bool:
    """Whether a loader shuffles all samples in each process of a group: in one order, they would do the same work."""
    if not any(seeding.calls("init_process_group")):
        return False
    loaders = (call for facts in seeding.visited for call in loader_calls(facts, program))
    apart = (call for call in loaders if shuffling(call) is not None and differs_by_rank(call))
    return any(seeding.runs(call.node, call.scope) for call in apart)


def _agrees(seeding: Seeding, program: Program) -> bool:
    """Whether the order of the data, or who gets which, is drawn, or the data themselves before they are split."""
    orders = (name for name, row in catalogue.names("rng", "draws").items() if row["kind"] == "order")
    if any(seeding.calls(*catalogue.last_parts(orders), *_SPLITS)):
        return True
    made_up = any(seeding.calls("TensorDataset"))
    return any(
        _is_of_data_set(draw.scope, program) or (made_up and not _is_repeated(draw.node, draw.scope, program))
        for draw in _samples(seeding, program)
    )


def _augments(seeding: Seeding, program: Program) -> bool:
    """Whether anything is drawn for each sample: by a transform, or in a method that a loader's workers may call."""
    names = {*_sampling(), *_transforms()}
    sites = (site for name in names for facts in seeding.visited for site in facts.calls.get(name, ()))
    draws = (draw_at(*site, program) for site in sites)
    return any(
        draw.deferred
        or (draw.kind == "sample" and (_is_for_each_sample(draw.scope, program) or _is_of_data(draw.scope)))
        for draw in draws
        if draw is not None and not is_besides(draw, program)
    )


def _is_undecided(seeding: Seeding, missing: Collection[Witness], program: Program) -> bool:
    """Whether ranks draw what they may have to share or to keep apart: samples that a function draws once, and of which
    no data set is made."""
    made_up = any(seeding.calls("TensorDataset"))
    return not made_up and any(
        not _is_for_each_sample(draw.scope, program) and not _is_repeated(draw.node, draw.scope, program)
        for draw in (*_samples(seeding, program), *(w.draw for w in missing if w.draw.kind == "sample"))
        if not is_besides(draw, program)
    )


def _is_for_each_sample(scope: Scope, program: Program) -> bool:
    """Whether a method of a data set, a transform or a model runs a call."""
    owner = scope.method_class
    return owner is not None and (scope.function.own_name in _FOR_EACH_SAMPLE or _is_data_set(owner, program))


def _is_data_set(owner: Scope, program: Program) -> bool:
    return any(base.endswith("Dataset") for base in program.external_bases(owner))


def _is_of_data(scope: Scope) -> bool:
    """Whether a method is, by the name of its class, that of a data set or a transform."""
    return scope.method_class is not None and roles.of_class([scope.method_class.name]) == "data"


def _is_whole_sample(scope: Scope) -> bool:
    """Whether a call makes a sample of a data set that never asks which one is meant: a sampler that gives each rank
    indices of its own keeps nothing apart there."""
    method = scope.function.node
    if scope.method_class is None or not isinstance(method, ast.FunctionDef) or method.name != "__getitem__":
        return False
    asked = {argument.arg for argument in method.args.args[1:]}
    return bool(asked) and asked.isdisjoint(names_in(method))


def _may_build(call: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether a call may give a model, by its name: that of a class, or of what makes or loads one."""
    if not isinstance(call, ast.Call):
        return True
    name = last_name(call.func)
    return program.by_name(_BUILDS.search(name) is not None, "that a call builds a model", scope, name)


def _is_of_data_set(scope: Scope, program: Program) -> bool:
    """Whether the constructor of a data set runs a call: each rank has a part of what is made there."""
    owner = scope.method_class
    return owner is not None and scope.function.own_name == "__init__" and _is_data_set(owner, program)


def _samples(seeding: Seeding, program: Program) -> Iterator[Draw]:
    return _drawn(seeding.calls(*_sampling()), program)


def _sampling() -> list[str]:
    """The last names of what draws numbers that are used."""
    rows = {name.rpartition(".")[2]: row for name, row in catalogue.names("rng", "draws").items()}
    names = {n for n, row in rows.items() if row["kind"] == "sample" and "training" not in row} - _SPLITS
    return sorted(names.union(catalogue.names("rng", "distribution_methods")))


def _transforms() -> list[str]:
    """The last names of what draws for each sample that it is called with."""
    return [name.rpartition(".")[2] for name, row in catalogue.names("rng", "draws").items() if row.get("deferred")]


def _drawn(sites: Iterable[CallSite], program: Program) -> Iterator[Draw]:
    for call, scope in sites:
        draw = draw_at(call, scope, program)
        if draw is not None and draw.kind == "sample" and not is_besides(draw, program):
            yield draw


def _is_repeated(node: ast.AST, scope: Scope, program: Program) -> bool:
    """Whether a loop that trains runs a call, in this function or in one that calls it."""
    if scope.function.own_name == "__init__":
        return False
    loops = [n for n in scope.facts.ancestors(node) if isinstance(n, ast.For | ast.While)]
    return any(map(_trains, loops)) or is_called_in_a_loop(scope.function, program)


def _trains(loop: ast.For | ast.While) -> bool:
    return any(last_name(call.func) in (*TRAINS, "step") for call in calls_in(loop))
