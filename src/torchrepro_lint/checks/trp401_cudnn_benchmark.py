"""TRP401: cuDNN is told to choose its kernels by timing them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchrepro_lint.checks.configured import cause, placed
from torchrepro_lint.checks.draft import Draft
from torchrepro_lint.checks.generator_doubts import is_never_seeded
from torchrepro_lint.checks.switch_edit import (
    is_after_speed,
    is_explained,
    is_handed_on,
    is_of_measuring,
    is_set_back,
    with_value,
)
from torchrepro_lint.dataflow import Module, Program, Site, remembered, remembered_in_file
from torchrepro_lint.dataflow.enclosing import block_of
from torchrepro_lint.dataflow.reachability import cleans_up
from torchrepro_lint.elements import Certainty
from torchrepro_lint.index import ModuleFacts, Scope, last_name, walk
from torchrepro_lint.kernels import convolutions
from torchrepro_lint.kernels.flags import Setting, follows_request, reads_switch
from torchrepro_lint.kernels.switches import stated
from torchrepro_lint.rng.predicates import is_unrequested, needs_option
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.training import trains_nothing

OWNER, NAME = "torch.backends.cudnn", "benchmark"
_MEASURES = re.compile(
    r"(?:^|[/_-])(?:accelerat\w*|bench\w*|fast|latency|perf|performance|profil\w*|speed\w*|throughput)(?=[/_.-])",
    re.IGNORECASE,
)
_EXTRACTS = re.compile(r"(?:^|[/_-])extract", re.IGNORECASE)  # what uses a model, and trains none
_LAYERS = ("Linear", "Embedding", "LSTM", "GRU", "RNN", "LSTMCell", "GRUCell")
# What a program imports of these may be convolutions.
_MODELS = frozenset(
    {"torchvision", "timm", "transformers", "diffusers", "segmentation_models_pytorch", "torchaudio", "monai",
     "speechbrain", "espnet", "efficientnet_pytorch", "pretrainedmodels", "fairseq"}
)  # fmt: skip
_SEEDS = re.compile(r"seed|random|rng|reprod|determin", re.IGNORECASE)
_TESTS = re.compile(r"^(?!.*train)(?:\w*_)?(?:test|testing|eval|evaluate|validate|infer|inference|predict)$")
_WARMS_UP = re.compile(rb"\bdef (?=\w*cudnn)\w*warm_?up|\bwarm(?:ing)?[ _-]?up (?:of )?cudnn\b", re.IGNORECASE)


def check(module: Module, program: Program) -> Iterator[Draft]:
    """Every place that turns `cudnn.benchmark` on, or may."""
    switch = stated(module, OWNER, NAME)
    off = _turned_off(switch.settings)
    for setting, value in switch.settings:
        if value is False or _switched_off(setting) or cleans_up(setting.node, setting.scope, program):
            continue
        if is_unrequested(setting.node, setting.scope, program):
            continue
        if value is None and not _opaque(program, setting):
            continue
        unsafe = (
            _is_after_speed(setting.facts, program)
            or is_explained(setting)
            or is_set_back(setting)
            or _has_constant(setting)
            or _is_asserted(setting.facts)
            or is_handed_on(setting)
            or _has_switch_of_its_own(setting)
            or is_never_seeded(setting.facts, program)
            or _neither_trains_nor_seeds(setting.facts, program)
            or _may_be_turned_off_below(setting, program)
            or _is_of_tests(setting, program)
            or is_of_measuring(setting, program)
            or (bool(off) and off.get(setting.scope.function, setting.statement.lineno) < setting.statement.lineno)
        )
        draft = Draft(setting.node, {"written": setting.written}, edits=with_value(setting, "False"), unsafe=unsafe)
        configured = placed(draft, Site(setting.value, setting.value_scope), program, "False", bool)
        if value is None and _is_off_by_default(setting, program):
            continue
        if value is None and configured.written_at is not None:
            yield configured._replace(certainty=Certainty.LIKELY)
        elif value is None or needs_option(NAME, setting.node, setting.scope):
            yield Draft(setting.node, {"written": setting.written}, "depends", depends=("the program is told to",))
        elif not switch.undone(setting, value) and not switch.chosen(setting, value):
            yield configured


@remembered
def _is_after_speed(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program only uses a model, or says by a name or by what it does that it measures how fast it is."""
    told = _MEASURES.search(facts.source.rel)
    told = told or (_EXTRACTS.search(facts.source.rel) if "step" not in facts.calls else None)
    is_named = program.by_name(told is not None, "that a program is after speed", facts.scope, facts.source.rel)
    return is_named or is_after_speed(facts, program) or _is_warmed_up(program)


@remembered
def _neither_trains_nor_seeds(facts: ModuleFacts, program: Program) -> bool:
    """Whether the guard of a file runs a program that neither trains nor seeds, or has nothing to time."""
    if _has_nothing_to_time(facts, program):
        return True
    is_alone = facts.guard is not None and trains_nothing(facts, program)
    return is_alone and not any(seeding.met for seeding in seedings(facts, program))


def _has_nothing_to_time(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that begin in a file are known all through and run layers, but no convolution: cuDNN times
    nothing else."""
    found = seedings(facts, program)
    return bool(found) and all(_is_without_convolutions(seeding, program) for seeding in found)


def _is_without_convolutions(seeding: Seeding, program: Program) -> bool:
    files = seeding.visited
    if not seeding.complete or not any(seeding.calls(*_LAYERS)):
        return False
    if any(not f.packages.isdisjoint(_MODELS) or convolutions.looks_up(f, program) for f in files):
        return False
    return all(map(convolutions.is_attention, convolutions.kernels(files, program)))


def _turned_off(settings: Sequence[tuple[Setting, bool | None]]) -> dict[Scope, int]:
    """The lines at which functions turn the switch off: what one turns on further down is as it was elsewhere."""
    off = [setting for setting, value in settings if value is False and setting.scope.function.kind != "module"]
    return {setting.scope.function: setting.statement.lineno for setting in reversed(off)}


def _is_of_tests(setting: Setting, program: Program) -> bool:
    """Whether a function sets the switch that by its name only tests a model: `def run_test(args):`."""
    name = setting.scope.function.own_name
    told = setting.scope.function.kind == "function" and _TESTS.search(name) is not None
    return program.by_name(told, "that a function only tests", setting.scope, name)


def _may_be_turned_off_below(setting: Setting, program: Program) -> bool:
    """Whether the function that sets the switch then calls another that turns it off, if only for some seeds: who gives
    others wants it on."""
    last = _last_turned_off(setting.facts, program).get(setting.scope.function, 0)
    return setting.statement.lineno < last


@remembered
def _last_turned_off(facts: ModuleFacts, program: Program) -> dict[Scope, int]:
    """The line of the last call in each function of a file that seeds by its name and turns the switch off."""
    sites = [site for site in facts.every_call() if _SEEDS.search(last_name(site[0].func))]
    off = [s for s in sites if any(f in _turning_off(f.facts, program) for f in program.functions_run(*s))]
    return {scope.function: call.lineno for call, scope in sorted(off, key=lambda site: site[0].lineno)}


@remembered
def _turning_off(facts: ModuleFacts, program: Program) -> frozenset[Scope]:
    """The functions of a file that turn the switch off."""
    settings = stated(Module(facts, program), OWNER, NAME).settings
    return frozenset(setting.scope.function for setting, value in settings if value is False)


def _has_constant(setting: Setting) -> bool:
    """Whether a constant is there for the switch alone, by its name, which would then mean nothing:
    `cudnn.benchmark = CUDNN_BENCHMARK`."""
    return isinstance(setting.value, ast.Name | ast.Attribute) and "benchmark" in last_name(setting.value).lower()


@remembered_in_file
def _is_asserted(facts: ModuleFacts) -> bool:
    """Whether a file insists that the switch is on: `assert cudnn.benchmark`."""
    return facts.source.matches(r"\bassert\b[^\n]{0,80}\bcudnn\.benchmark\b")


def _has_switch_of_its_own(setting: Setting) -> bool:
    """Whether the block seeds above only if determinism is asked for: then the same option should decide this."""
    asked = _asking(setting.facts)
    block = block_of(setting.facts, setting.statement) if asked else ()
    return any(test.lineno < setting.statement.lineno and test in block for test in asked)


@remembered_in_file
def _asking(facts: ModuleFacts) -> list[ast.If]:
    """Where a file does something only if determinism is asked for."""
    if not facts.source.matches("determinis"):
        return []
    tests = (n for n in walk(facts.tree) if isinstance(n, ast.If) and not n.orelse)
    return [n for n in tests if "determinis" in ast.unparse(n.test).lower()]


def _is_warmed_up(program: Program) -> bool:
    """Whether the project gives cuDNN time to try its kernels out, `warmup_cudnn()`: then it is after speed."""
    return program.project.text.any_match(_WARMS_UP, (b"cudnn",)) is True


def _is_off_by_default(setting: Setting, program: Program) -> bool:
    """Whether a configuration file says no, which the user may override."""
    return cause(Site(setting.value, setting.value_scope), program, lambda value: not value) is not None


def _opaque(program: Program, setting: Setting) -> bool:
    """A value known only at run time, not one that follows a determinism flag or restores an earlier value."""
    return not follows_request(program, setting) and not reads_switch(setting.facts, OWNER, NAME, program)


def _switched_off(setting: Setting) -> bool:
    """`flags(enabled=False, benchmark=True)`: without cuDNN there is nothing to time."""
    keywords = {k.arg: k.value for k in setting.call.keywords} if setting.call is not None else {}
    enabled = keywords.get("enabled")
    return isinstance(enabled, ast.Constant) and enabled.value is False
