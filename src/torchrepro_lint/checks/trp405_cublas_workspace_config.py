"""TRP405: deterministic algorithms on an older PyTorch without the cuBLAS variable that they need."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Draft, Place
from torchrepro_lint.checks.switch_edit import workspace_line
from torchrepro_lint.dataflow import Module, Program
from torchrepro_lint.kernels.cublas import used_before
from torchrepro_lint.kernels.determinism import turned_on, turned_on_anywhere
from torchrepro_lint.kernels.environment import EnvironmentSet, named_in, sets
from torchrepro_lint.project.disk import in_scripts
from torchrepro_lint.project.versions import may_be
from torchrepro_lint.syntax import insert_before, quoted, replace


def check(module: Module, program: Program) -> Iterator[Draft]:
    """The first call that turns the mode on, or each place that sets the variable wrongly or too late."""
    if not any(word in module.facts.source.text for word in ("determinis", "CUBLAS_WORKSPACE")):
        return
    row = catalogue.table("backend_flags")["cublas"]
    variable, accepted = row["variable"], row["accepted"]
    if variable not in module.facts.source.text and next(turned_on(module), None) is None:
        return
    if not may_be(program.project.torch_version, row["until"]):
        return
    found = sets(program, module.facts, variable)
    if found and turned_on_anywhere(module, program):
        yield from _wrong(module, program, found, accepted)
    elif not found:
        yield from _missing(module, program, variable)


def _wrong(module: Module, program: Program, found: list[EnvironmentSet], accepted: list[str]) -> Iterator[Draft]:
    facts = module.facts
    uses = {item: used_before(module, facts.statement(item.node)) for item in found}
    if any(s.value is None or (s.value in accepted and uses[s] is None) for s in found):
        return
    for item, use in uses.items():
        if item.value not in accepted:
            edits = (replace(facts, item.written, quoted(facts, accepted[0], program.project.style)),)
            yield Draft(item.node, {"value": facts.text(item.written)}, "value", edits=edits)
        elif use is not None:
            yield Draft(item.node, {}, "late", related=(Place(facts, use, "cuBLAS is used here"),))


def _missing(module: Module, program: Program, variable: str) -> Iterator[Draft]:
    facts = module.facts
    first = next(turned_on(module), None)
    if first is None or _set_elsewhere(module, program, variable):
        return
    setting, certain = first
    line = workspace_line(facts, setting.scope, setting.statement, program)
    edits = (insert_before(facts, setting.statement, line.text), *line.edits)
    depends = () if certain else ("it switches deterministic algorithms on",)
    yield Draft(setting.node, {"written": setting.written}, depends=depends, edits=edits)


def _set_elsewhere(module: Module, program: Program, variable: str) -> bool:
    if named_in(module.facts, variable):
        return True
    paths = program.project.text.mentioning(variable)
    if paths is None:
        return True
    others = program.loaded(path for path in paths if path != module.facts.source.path)
    return any(named_in(facts, variable) for facts in others) or bool(
        program.project.disk(in_scripts, str(program.project.root), variable)
    )
