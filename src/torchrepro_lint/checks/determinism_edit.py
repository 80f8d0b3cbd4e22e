"""How a fix asks for deterministic kernels, and sets the variable that cuBLAS needs for them before PyTorch 2.10."""

from __future__ import annotations

import ast

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.index import ModuleFacts, Scope
from torchrepro_lint.model import Edit
from torchrepro_lint.project.versions import allowed_in
from torchrepro_lint.syntax import Import, import_name, insert_after, quoted

_FLAG = "torch.use_deterministic_algorithms"


def determinism_asked_for(seed: ast.Call, scope: Scope, program: Program) -> tuple[Edit, ...]:
    """`torch.use_deterministic_algorithms(True)` below the seeds that stand together with `seed`, with what it needs;
    nothing for releases without it."""
    facts, row = scope.facts, catalogue.table("backend_flags")
    setting = program.project.torch_version
    last = _last_seed(facts, facts.statement(seed))
    if last is None or allowed_in(setting, row["strict_flag"]["torch"]) != "all":
        return ()
    flag = import_name(facts, _FLAG, scope, last)
    lines, edits = [f"{flag.text}(True)"], [*flag.edits]
    if allowed_in(setting, row["cublas"]["until"]) != "none" and row["cublas"]["variable"] not in facts.source.text:
        needed = workspace_line(facts, scope, last, program)
        lines, edits = [needed.text, *lines], [*edits, *needed.edits]
    return (insert_after(facts, last, *lines), *dict.fromkeys(edits))


def workspace_line(facts: ModuleFacts, scope: Scope, at: ast.stmt, program: Program) -> Import:
    """The statement that sets the variable of cuBLAS where the environment does not, and the import that it needs."""
    row, style = catalogue.table("backend_flags")["cublas"], program.project.style
    environ = import_name(facts, "os.environ", scope, at)
    name, value = quoted(facts, row["variable"], style), quoted(facts, row["accepted"][0], style)
    return Import(f"{environ.text}.setdefault({name}, {value})", environ.edits)


def _last_seed(facts: ModuleFacts, statement: ast.stmt) -> ast.stmt | None:
    """The last of the calls with `seed` in their names that follow one another from this statement on."""
    if not isinstance(statement, ast.Expr | ast.Assign):
        return None
    holder = facts.parents.get(statement)
    body = next((b for b in (getattr(holder, f, ()) for f in ("body", "orelse")) if statement in b), [statement])
    last = statement
    for following in body[body.index(statement) + 1 :]:
        if not (isinstance(following, ast.Expr) and isinstance(following.value, ast.Call)):
            break
        if "seed" not in facts.text(following.value.func):
            break
        last = following
    return last
