"""How a fix gives a back-end switch another value at the place that sets it; and how it asks for deterministic kernels,
with the variable that cuBLAS needs for them before PyTorch 2.10."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import takewhile

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Fix
from torchrepro_lint.dataflow import Module, Program, remembered_in_file
from torchrepro_lint.dataflow.enclosing import block_of, is_in_body
from torchrepro_lint.index import FunctionNode, ModuleFacts, Scope, last_name, walk
from torchrepro_lint.kernels.flags import Setting
from torchrepro_lint.kernels.switches import stated
from torchrepro_lint.model import Edit, Position, Range
from torchrepro_lint.project.versions import allowed_in
from torchrepro_lint.seeding.noise import learns_noise
from torchrepro_lint.seeding.seedings import seedings
from torchrepro_lint.seeding.training import is_called_benchmark, only_evaluates
from torchrepro_lint.syntax import Import, import_name, insert_after, insert_before, quoted, replace, top_line

# A comment that only praises the other value, in a few words: it would be wrong of the new one. One that names anything
# (a ticket, a person, a place, a number) or insists stays.
PRAISE = re.compile(
    r"\s*#(?!.*(?:noqa|type:|pylint|torchrepro|R-?CNN|infer|make sure|must|need|importan|require|except|exempt))"
    r"(?=\s*[a-z,.!?'()-]+(?:\s+[a-z,.!?'()-]+){0,11}\s*$).*"
    r"\b(?:fast(?:er|est)?|speeds?|speed-?ups?|tun(?:e|es|ing)|accelerat\w+|warn\w*|perform\w+|efficien\w+"
    r"|(?:activat|enabl|turn|us)\w*\b.*\bbenchmark\w*|benchmark mode)\b",
    re.IGNORECASE,
)
_FLAG = "torch.use_deterministic_algorithms"
_CUDNN = "torch.backends.cudnn.deterministic"

COMMENTED = 10  # lines above a switch in which a comment may be about it
_OF_SWITCHES = re.compile(r"determinis|cudnn|benchmark", re.IGNORECASE)
_UNWANTED = re.compile(
    r"\b(?:back|unnecessar\w+|not (?:needed|necessary|wanted)|undo\w*|overrid\w+|revert\w*)\b", re.IGNORECASE
)
_TELLS = ("print", "debug", "info", "warning", "log")
_COMMENT_LINES = re.compile(r"(?:[ \t]*#[^\r\n]*(?:\r\n?|\n|\Z))+")
_OF_DEVICES = re.compile(r"cuda|cudnn|gpu|device|cpu", re.IGNORECASE)
_OF_SWITCH = re.compile(r"(?:use_?)?cudnn(?:_?bench\w*)?", re.IGNORECASE)  # an option for it: `if config["cudnn"]:`
_OF_SPEED = re.compile(r"(?:^|[^a-z])(?:fast|speed|perf|performance|throughput)(?![a-z])", re.IGNORECASE)
# What tells how much is done in a second: `print(f"Samples/Sec = {rate}")`.
_TELLS_RATE = r"(?i:throughput|(?:samples?|images?|imgs?|examples?|tokens?)[ _]?(?:/|per)[ _]?s(?:ec(?:ond)?)?\b)"
_READS_CLOCK = frozenset({"time", "perf_counter", "monotonic"})
_CLOCKS = ("perf_counter", "perf_counter_ns", "monotonic", "synchronize")
_MAKES = re.compile(  # a part of a program: `build_model`, `get_dataloaders`
    r"^_*(?:build|make|create|get|load|split|generate|prepare)_(?:\w+_)?"
    r"(?:models?|net(?:work)?s?|data(?:_?sets?|_?loaders?)?|loaders?|splits?|samples?|batch(?:es)?)(?:_|$)"
)
_TURNED_OFF = r"(?m)^[ \t]*#[ \t#]*[\w.]*cudnn\.deterministic[ \t]*=[ \t]*True"
_FINDS = re.compile(r"^_?(?:find|measure|benchmark|profile|estimate)_")
_SAYS = re.compile(r"cudnn|\bbenchmark", re.IGNORECASE)
_HEADED = re.compile(  # what stands below comments that begin so, up to the end, with no other or blank line between
    r"^[ \t]*#[^\r\n]*\b(?:perform|speed|fast|optimi[sz]|accelerat)[^\r\n]*(?:\r\n?|\n)(?:[ \t]*#[^\r\n]*(?:\r\n?|\n))*"
    r"(?:[ \t]*[^\s#][^\r\n]*(?:\r\n?|\n))+\Z",
    re.IGNORECASE | re.MULTILINE,
)


def with_value(setting: Setting, text: str) -> tuple[Edit, ...]:
    """Set the switch to `text`; what is assigned along with it (`a.x = a.y = True`) keeps its value."""
    facts, statement = setting.facts, setting.statement
    if setting.value_scope.facts is not facts:
        return ()  # the value is written in another file, where other code may use it
    made = setting.value_scope.bindings_of(setting.value) if isinstance(setting.value, ast.Name) else ()
    if any(b.kind == "parameter" for b in made):  # what callers give still counts
        defaults = [b.value for b in made if isinstance(b.value, ast.Constant)]
        return tuple(replace(facts, default, text) for default in defaults) if len(defaults) == len(made) else ()
    if setting.target is None or not isinstance(statement, ast.Assign) or len(statement.targets) == 1:
        return (_with_comment(facts, replace(facts, setting.value, text)), *_comment_above(facts, statement))
    if setting.target not in statement.targets:
        return ()
    index = statement.targets.index(setting.target)
    following = [*statement.targets, statement.value][index + 1]
    gone = Range(facts.range(setting.target).start, facts.range(following).start)
    line = f"{facts.text(setting.target)} = {text}"
    return insert_before(facts, statement, line), Edit(facts.source.rel, gone, "")


def _with_comment(facts: ModuleFacts, edit: Edit) -> Edit:
    """The edit, extended over a trailing comment about the old value."""
    end = edit.range.end
    line = facts.source.line(end.line)
    if not PRAISE.match(line[end.column - 1 :]):
        return edit
    return Edit(edit.path, Range(edit.range.start, Position(end.line, len(line) + 1)), edit.text)


def is_of_measuring(setting: Setting, program: Program) -> bool:
    """Whether a function sets a switch that by its name finds something out, such as a size that fits into memory."""
    name = setting.scope.function.own_name
    told = setting.scope.function.kind == "function" and _FINDS.search(name) is not None
    return program.by_name(told, "that a function only measures", setting.scope, name)


def is_explained(setting: Setting) -> bool:
    """Whether a comment stands with the switch: it may say why the value is as it is, and be it that it speeds training
    up. Or the program itself says above that the switch is on."""
    facts, statement = setting.facts, setting.statement
    holder = facts.parents[statement]
    return (
        top_line(facts, statement) < statement.lineno
        or _is_commented(facts, statement)
        or (isinstance(holder, ast.If) and _is_explained_beside(facts, holder))
        or _is_asked_for(facts, statement)
        or _is_explained_below(facts, statement)
        or _is_under_a_heading(facts, statement)
        or _SAYS.search(_docstring(setting.scope)) is not None
        or is_announced(setting)
    )


def _is_commented(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a comment stands behind a statement."""
    return "#" in facts.source.line(statement.end_lineno or 0)[facts.range(statement).end.column - 1 :]


def _is_explained_beside(facts: ModuleFacts, holder: ast.If) -> bool:
    """Whether the condition of a switch has a comment about it: `if same_size:  # other sizes slow the benchmark`, also
    above; or stands for this switch alone, and is not about the device: then it says when that pays."""
    if any(_SAYS.search(facts.source.line(n)) for n in range(top_line(facts, holder), holder.lineno)):
        return True
    if len(holder.body) == 1 and not holder.orelse:
        asked = holder.test
        name = getattr(asked.slice, "value", "") if isinstance(asked, ast.Subscript) else last_name(asked)
        if not _OF_DEVICES.search(facts.text(asked)) or _OF_SWITCH.fullmatch(str(name)):
            return True
    behind = facts.source.line(holder.test.end_lineno or 0)[facts.range(holder.test).end.column - 1 :]
    return "#" in behind and _SAYS.search(behind) is not None


def _is_asked_for(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether the switch stands under a test by whose name the program is to be fast: `if config.fast_mode:`."""
    around = (n for n in facts.ancestors(statement) if isinstance(n, ast.If))
    return any(_OF_SPEED.search(facts.text(n.test)) and is_in_body(statement, n) for n in around)


def _is_under_a_heading(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a comment heads the lines with which the switch stands together: "performance optimizations"."""
    starts, line = facts.source.line_starts, statement.lineno - 1
    above = facts.source.text[starts[max(line - COMMENTED, 0)] : starts[line]]
    return "#" in above and _HEADED.search(above) is not None


def _docstring(scope: Scope) -> str:
    """That of the function, or of the class, that sets a switch."""
    owners = (scope.function, scope.method_class)
    nodes = (owner.node for owner in owners if owner is not None and owner.kind in ("function", "class"))
    return "\n".join(ast.get_docstring(node) or "" for node in nodes if isinstance(node, FunctionNode | ast.ClassDef))


def _is_explained_below(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether the comment right below is about the switch: "with the benchmark on, runs may differ"."""
    starts, line = facts.source.line_starts, statement.end_lineno or 0
    found = _COMMENT_LINES.match(facts.source.text, starts[line]) if line < len(starts) else None
    return found is not None and _SAYS.search(found.group()) is not None


def is_after_speed(facts: ModuleFacts, program: Program) -> bool:
    """Whether a program only uses a model, has nothing to learn, or times what it does, as by
    `cuda.Event(enable_timing=True)`, in a `def latency()`, or in a file called a benchmark; or keeps nothing, and tells
    how many images it takes in a second."""
    is_timed = facts.source.matches(r"\benable_timing\s*=\s*True\b|\bdef \w*latency\w*\(")
    is_timed = is_timed or _tells_throughput(facts)
    is_timed = is_timed or (is_called_benchmark(facts) and not facts.calls.keys().isdisjoint(_CLOCKS))
    found = seedings(facts, program)
    is_in_vain = any(seeding.measures_time or learns_noise(seeding, program) for seeding in found)
    return is_timed or is_in_vain or only_evaluates(facts, program)


def _tells_throughput(facts: ModuleFacts) -> bool:
    """Whether a file reads a clock, writes a rate out, and saves no model."""
    called = facts.calls.keys()
    return "save" not in called and not called.isdisjoint(_READS_CLOCK) and facts.source.matches(_TELLS_RATE)


def is_announced(setting: Setting, said: re.Pattern[str] = _SAYS) -> bool:
    """Whether the statement above, or one below the switches that stand together, prints or logs a text about the
    switch: `print("Set cuDNN benchmark")`."""
    return setting.statement in _announced(said, setting.facts)


@remembered_in_file
def _announced(said: re.Pattern[str], facts: ModuleFacts) -> set[ast.stmt]:
    """The statements right below those that print or log such a text, and the assignments right above."""
    found: set[ast.stmt] = set()
    for call, statement in ((call, facts.statement(call)) for name in _TELLS for call, _ in facts.calls.get(name, ())):
        texts = (n.value for n in walk(call) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        if isinstance(statement, ast.Expr) and statement.value is call and any(map(said.search, texts)):
            block = block_of(facts, statement)
            at = block.index(statement)
            found.update(block[at + 1 :][:1])
            found.update(takewhile(lambda above: isinstance(above, ast.Assign), reversed(block[max(at - 3, 0) : at])))
    return found


def is_handed_on(setting: Setting) -> bool:
    """Whether the value is that of a parameter or a setting, `config.mode`, which would have no effect any more."""
    if isinstance(setting.value, ast.Constant):
        return False
    if isinstance(setting.value, ast.Attribute | ast.Subscript):
        return True
    read = (node for node in walk(setting.value) if isinstance(node, ast.Name))
    return any(binding.kind == "parameter" for node in read for binding in setting.value_scope.bindings_of(node))


def is_set_back(setting: Setting) -> bool:
    """Whether comments above say why determinism is not wanted here: "the helper makes it deterministic, which is
    unnecessary"."""
    last = setting.statement.lineno
    near = [[n for n in lines if last - COMMENTED <= n < last] for lines in _unwanted(setting.facts)]
    return all(near)


@remembered_in_file
def _unwanted(facts: ModuleFacts) -> tuple[list[int], ...]:
    """The lines of a file whose comments speak of the switches, and those that say that something is not wanted."""
    lines = enumerate(facts.source.whole.splitlines(), 1)
    comments = [(number, line) for number, line in lines if line.lstrip().startswith("#")]
    return tuple([n for n, line in comments if said.search(line)] for said in (_OF_SWITCHES, _UNWANTED))


def _comment_above(facts: ModuleFacts, statement: ast.stmt) -> tuple[Edit, ...]:
    """The removal of one about the old value on the line above, where it heads this statement alone."""
    source, line = facts.source, statement.lineno
    above, below = source.line(line - 1) if line > 1 else "", (statement.end_lineno or line) + 1
    indent = source.line(line)[: statement.col_offset]
    heads_more = (
        below < len(source.line_starts) and source.line(below).startswith(indent) and source.line(below).strip()
    )
    if not PRAISE.match(above) or top_line(facts, statement) != line - 1 or heads_more:
        return ()
    return (Edit(source.rel, Range(Position(line - 1, 1), Position(line, 1)), ""),)


# -- deterministic kernels --------------------------------------------------------------------------------------------
def convolutions_settled(seed: ast.Call, scope: Scope, program: Program) -> Fix:
    """`torch.backends.cudnn.deterministic = True` below the seeds that stand together with `seed`: it raises nowhere.
    Unsafe where comments speak of such switches, where the program is after speed, where it tunes its kernels for a
    reason, where an object or a function that makes a part seeds for itself, where a call that is given the seed may be
    all of the program, and where the program may run past it."""
    facts, statement = scope.facts, scope.facts.statement(seed)
    last = _last_seed(facts, statement)
    if last is None or "seed" not in facts.text(seed.func):  # what runs the program, with a seed of its own
        return Fix()
    switch = import_name(facts, _CUDNN, scope, last)
    spoken_of, _ = _unwanted(facts)
    is_part = scope.method_class is not None or _makes_part(scope.function, program)
    is_whole = getattr(statement, "value", None) is seed
    is_doubtful = bool(spoken_of) or is_part or not is_whole or _is_one_of_two_ways(facts, last)
    fix = (insert_after(facts, last, f"{switch.text} = True"), *switch.edits)
    return Fix(fix, is_doubtful or _tunes_for_a_reason(scope, program) or is_after_speed(facts, program))


def _tunes_for_a_reason(scope: Scope, program: Program) -> bool:
    """Whether the function that seeds turns the autotuner on, with a comment of its own: `# an exemption for speed`."""
    tuners = stated(Module(scope.facts, program), "torch.backends.cudnn", "benchmark").settings
    inside = (s for s, value in tuners if value and s.scope.function is scope.function)
    return any(_is_commented(s.facts, s.statement) for s in inside)


def _makes_part(function: Scope, program: Program) -> bool:
    """Whether a function by its name makes a model or data, and returns them: what it seeds is that alone."""
    returns = (n.value for n in walk(function.node) if isinstance(n, ast.Return))
    told = _MAKES.match(function.own_name) is not None and any(value is not None for value in returns)
    return program.by_name(told, "that a function makes a part of a program", function, function.own_name)


def is_turned_off(files: Iterable[ModuleFacts]) -> bool:
    """Whether the author of any of the files has turned the switch for deterministic convolutions off by a `#`."""
    return any(facts.source.matches(_TURNED_OFF) for facts in files)


def _is_one_of_two_ways(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """Whether a program that does not come by a statement goes another way: `if cuda: ... else: ...`; or does so where
    something is absent, `if not cuda:`. `if args.seed is not None:` leaves it to whoever runs the program."""
    around = (n for n in facts.ancestors(statement) if isinstance(n, ast.If) and n is not facts.guard)
    return any(n.orelse or _is_negated(n.test) for n in around)


def _is_negated(test: ast.expr) -> bool:
    """`not cuda`, and where the seed is none: `seed is None`, `seed == -1`."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=asked):
            return not isinstance(asked, ast.Compare)
        case ast.Compare(ops=[ast.Eq() | ast.Is()], comparators=[ast.Constant(value=None) | ast.UnaryOp()]):
            return True
    return False


def determinism_asked_for(seed: ast.Call, scope: Scope, program: Program) -> Fix:
    """`torch.use_deterministic_algorithms(True)` below the seeds that stand together with `seed`, with what it needs;
    nothing for releases without it."""
    facts, row = scope.facts, catalogue.table("backend_flags")
    setting = program.project.torch_version
    last = _last_seed(facts, facts.statement(seed))
    if last is None or allowed_in(setting, row["strict_flag"]["torch"]) != "all":
        return Fix()
    flag = import_name(facts, _FLAG, scope, last)
    lines, edits = [f"{flag.text}(True)"], [*flag.edits]
    if allowed_in(setting, row["cublas"]["until"]) != "none" and row["cublas"]["variable"] not in facts.source.text:
        needed = workspace_line(facts, scope, last, program)
        lines, edits = [needed.text, *lines], [*edits, *needed.edits]
    return Fix((insert_after(facts, last, *lines), *dict.fromkeys(edits)), unsafe=True)


def workspace_line(facts: ModuleFacts, scope: Scope, at: ast.stmt, program: Program) -> Import:
    """The statement that sets the variable of cuBLAS where the environment does not, and the import that it needs."""
    row, style = catalogue.table("backend_flags")["cublas"], program.project.style
    environ = import_name(facts, "os.environ", scope, at)
    name, value = quoted(facts, row["variable"], style), quoted(facts, row["accepted"][0], style)
    return Import(f"{environ.text}.setdefault({name}, {value})", environ.edits)


def _last_seed(facts: ModuleFacts, statement: ast.stmt) -> ast.stmt | None:
    """The last of the calls with `seed` in their names that follow one another from this statement on; those that only
    a condition on the device keeps apart are among them."""
    if not isinstance(statement, ast.Expr | ast.Assign):
        return None
    holder = facts.parents.get(statement)
    last: ast.stmt = statement
    if isinstance(holder, ast.If) and holder.orelse and _only_seeds(facts, holder):
        last = holder
    body = block_of(facts, last)
    for following in body[body.index(last) + 1 :]:
        if not _only_seeds(facts, following):
            break
        last = following
    return last


def _only_seeds(facts: ModuleFacts, statement: ast.stmt) -> bool:
    """`torch.cuda.manual_seed(0)`, and `if args.cuda: torch.cuda.manual_seed(0)`, whatever it seeds otherwise."""
    match statement:
        case ast.Expr(value=ast.Call(func=seeder)):
            return "seed" in facts.text(seeder)
        case ast.If(body=body, orelse=otherwise):
            return all(_only_seeds(facts, inner) for inner in (*body, *otherwise))
    return False
