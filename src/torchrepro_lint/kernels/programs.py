"""What the programs are that run the code of a file: whether they go to a GPU where there is one, and whether they only
evaluate, in a project in which others train.

Goes by imports and by words in the text: what files say of devices, frameworks and launchers, and of training. No
gradient flows in what neither a training program nor anything that one imports can reach. Where it cannot be told, the
file may be trained, on a GPU.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from torchrepro_lint.dataflow import Program, remembered, remembered_of_texts
from torchrepro_lint.dataflow.conditions import conditions
from torchrepro_lint.dataflow.reaching_definitions import reads
from torchrepro_lint.index import ModuleFacts, calls_in, last_name
from torchrepro_lint.kernels.environment import sets
from torchrepro_lint.project.entries import files_of_programs

_GPU = re.compile(r"(?im)^[^#\n]*(?:cuda|accelerat|gpu)")  # not in a comment
# What moves a model there without being told to, and what launchers leave to the processes that they start.
_BY_THEMSELVES = re.compile(r"(?:pytorch_)?lightning\b|\btransformers\b|deepspeed|fastai|colossalai|LOCAL_RANK")
_MOVES = re.compile(r"(?i)cudnn|device|\.to\(|\.type\(|default_tensor_type")
_WORDS = ("cuda", "CUDA", "gpu", "GPU", "accelerat", "lightning", "transformers", "deepspeed", "LOCAL_RANK")
_IN_CODE = re.compile(rb"(?im)^[^#\n]*(?:cuda|gpu|accelerat|lightning|transformers|deepspeed|LOCAL_RANK)")
MAX_PROGRAMS = 64
_TRAINS_BY_WORD = re.compile(rb"\.backward\(|autograd\.grad\b|zero_grad\(|training_step|train_step|\.fit\(|Trainer\b")
# A model's own module, which tries it out on made-up numbers: that says nothing of who trains the parts of the model.
_MODEL = re.compile(rb"^[ \t]+def forward\(", re.MULTILINE)
_IS_FOR_USE = re.compile(
    rb"argparse|sys\.argv|Loader\("
    rb"|\A(?:(?!__main__).)*__main__.*?\n[^#\n]*(?:load_state_dict|torch\.load\(|from_pretrained|load_from_checkpoint)",
    re.DOTALL,
)
_LOOPS = (".backward(", "zero_grad(", ".fit(")  # of scripts without a guard, too
_BY_NAME = ("import_module", "__import__", "instantiate")  # what these reach is in no import


def uses_gpu(files: Iterable[ModuleFacts], program: Program) -> bool:
    """Whether any of the files, or of those that they import, speaks of a GPU, and none hides all of them from the
    program."""
    files = tuple(files)
    imported = {path for f in files for path in program.project.imported(f.source.path)}
    every = chain(files, program.loaded(sorted(imported)))
    return any(_speaks_of_gpu(f, program) for f in every) and not any(_hides_gpus(f, program) for f in files)


@remembered
def _hides_gpus(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file leaves the program no device, whatever its options: `os.environ["CUDA_VISIBLE_DEVICES"] = ""`."""
    found = sets(program, facts, "CUDA_VISIBLE_DEVICES")
    return bool(found) and all(s.value in ("", "-1") and not conditions(s.node, s.scope) for s in found)


@remembered
def _speaks_of_gpu(facts: ModuleFacts, program: Program) -> bool:
    """Whether a file speaks of a GPU, and not only where it names a device that nothing is moved to."""
    text = facts.source.text
    if _GPU.search(text) is None:
        return False
    lines = _lines_of_idle_devices(facts, program)
    return not lines or any(text.count("\n", 0, found.end()) + 1 not in lines for found in _GPU.finditer(text))


def _lines_of_idle_devices(facts: ModuleFacts, program: Program) -> frozenset[int]:
    """The lines that bind names of devices which nothing reads: `device = torch.device("cuda")`."""
    made = [
        (name, scope, b) for scope in facts.scope.descend() for name, bound in scope.bindings.items() for b in bound
    ]
    held = [(name, scope, facts.statement(b.node)) for name, scope, b in made if b.kind == "assign"]
    idle = [(scope, node) for name, scope, node in held if _names_device(node) and not reads(name, scope)]
    if any(scope.kind == "module" for scope, _ in idle) and program.project.users([facts.source.path]):
        return frozenset()  # who imports the file may read it
    return frozenset(line for _, node in idle for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def _names_device(statement: ast.stmt) -> bool:
    """`device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")`"""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            return any(last_name(call.func) in ("device", "is_available") for call in calls_in(value))
    return False


@remembered
def goes_to_gpu(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that run the code of a file do; of code that no program in sight runs, the project."""
    if _speaks_of_gpu(facts, program) or _BY_THEMSELVES.search(facts.source.text):
        return True
    files, speaking = files_of_programs(facts, program.project), _speaking(program)
    return speaking is None or (not files.isdisjoint(speaking) if files else bool(speaking))


@remembered_of_texts
def _speaking(program: Program) -> frozenset[Path] | None:
    """The files whose code, not a comment alone, has one of the words; None where the project is too large."""
    spoken = [program.project.text.containing(word) for word in _WORDS]
    found = {path for paths in spoken for path in paths or ()}
    return frozenset(p for p in found if program.project.text.has(p, _IN_CODE)) if None not in spoken else None


@remembered
def stays_on_cpu(facts: ModuleFacts, program: Program) -> bool:
    """Whether the programs that run the code of a file train by themselves, and nowhere speak of a device: then
    nothing moves their tensors to a GPU. Of code that no program in sight runs, nobody knows."""
    if goes_to_gpu(facts, program):
        return False
    known = list(program.loaded(sorted(files_of_programs(facts, program.project))))
    return any(_trains(file) for file in known) and not any(_MOVES.search(file.source.text) for file in known)


def _trains(facts: ModuleFacts) -> bool:
    """Whether a backward pass is run by the program that a file is, and not only by who calls its functions."""
    calls = facts.calls.get("backward", ())
    return bool(calls) and (facts.guard is not None or any(scope.kind == "module" for _, scope in calls))


# -- training ---------------------------------------------------------------------------------------------------------
def is_never_trained(path: Path, program: Program) -> bool:
    """Whether programs use the file `path`, and none of them trains or imports what does."""
    return path in _never_trained(program)


def imports_by_name(program: Program) -> bool:
    """Whether the project may import modules, or make objects, by names that only exist at run time."""
    return any(program.project.text.containing(word) for word in _BY_NAME)


def _tries_a_model_out(start: Path, program: Program) -> bool:
    """Whether a file defines a model and tries it out under its own guard, without options, weights or data."""
    return program.project.text.has(start, _MODEL) and not program.project.text.has(start, _IS_FOR_USE)


@remembered_of_texts
def _never_trained(program: Program) -> frozenset[Path]:
    """The files that evaluating programs import, without those that a training one reaches, too."""
    starts = program.project.text.containing("__main__") or ()
    if len(starts) > MAX_PROGRAMS or imports_by_name(program):
        return frozenset()
    evaluated: set[Path] = set()
    trained: set[Path] = set()
    for start in starts:
        reached = program.project.reachable(start)
        if any(program.project.text.has(file, _TRAINS_BY_WORD) for file in reached):
            trained |= reached
        elif not _tries_a_model_out(start, program):
            evaluated |= reached - {start}
    loops = [path for word in _LOOPS for path in program.project.text.containing(word) or ()] if evaluated else []
    if not loops:
        return frozenset()  # a library's models: somebody else trains them
    return frozenset(evaluated.difference(trained, *(program.project.reachable(path) for path in loops)))
