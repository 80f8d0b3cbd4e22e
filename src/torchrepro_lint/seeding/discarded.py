"""Draws that no result is made of: a number that is never read, a seed or the name of a run; and the weights of a model
that is only counted, printed or asked for its name, or over which others are loaded.

Told by how the value is used in the function that makes it; what leaves that function may be used anywhere, but for a
model that is handed to functions of the project which load weights. What is loaded in part, or after a training, is not
meant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence, Set
from itertools import pairwise
from typing import TypeGuard

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow import Program, Site, remembered, remembered_in_file
from torchrepro_lint.dataflow.abstract_values import Origin, Result
from torchrepro_lint.dataflow.binding import argument_place, parameter_at
from torchrepro_lint.dataflow.enclosing import DEFINITIONS, ancestors, block_of, run_with
from torchrepro_lint.dataflow.reaching_definitions import reads
from torchrepro_lint.dataflow.references import imported_reads, reads_of_target
from torchrepro_lint.index import LoopNode, ModuleFacts, Scope, arguments_of, calls_in, last_name, names_in, walk
from torchrepro_lint.project.declarations import attribute_of, flags_of
from torchrepro_lint.rng.draws import Draw
from torchrepro_lint.rng.seed_options import SEED_NAME
from torchrepro_lint.rng.seeded_before import SEEDS_BY_NAME
from torchrepro_lint.seeding.seeding import Link

_CONVERT = frozenset({"str", "int", "float", "round"})
_MOVE = frozenset({"to", "cuda", "cpu", "eval", "train", "half", "float", "double"})  # what a model itself is after
_DESCRIBE = re.compile(
    r"(?i)^(?:print|len|str|repr|type|isinstance|hasattr|id)$|^(?:get_|print_|show_)?(?:n|num|number_of|count|model|param)_"
    r"?(?:trainable_)?(?:param(?:eter)?s?|weights|size|info)(?:_count)?$|summar|^print_(?:net|model)|flops|macs"
)
_NAMES = frozenset({"name", "__class__", "__name__", "training", "device", "dtype"})
_PARTS = frozenset({"parameters", "named_parameters", "buffers", "modules", "named_modules", "children"})
_FORM = frozenset({"shape", "dtype", "ndim"})
_MEASURES = frozenset({"numel", "nelement", "element_size", "size", "shape", "requires_grad", "dtype", "__class__"})
MAX_CALLS = 3  # from where weights are made to where others are loaded over them
_TRAINING = r"(?i)^(?:\w*_)?(?:train|fit|save|optimi[sz]e|update)(?:_\w*)?$"
_NUMBERS = frozenset({"randint", "randrange", "getrandbits", "random_integers", "integers"})
_WITHOUT_BIAS = frozenset({"Embedding", "EmbeddingBag"})
_PLAIN = (ast.Assign, ast.Expr, ast.Assert, ast.Delete)


def are_lost(chain: Sequence[Link], program: Program) -> bool:
    """Whether nothing is computed with the weights that are drawn at the end of these calls, or none are."""
    overwritten = _are_loaded_over(chain, program) or _are_set_by_hand(chain[-1])
    return overwritten or _is_only_described(chain, program) or _is_on_meta(chain, program)


def _is_never_read(draw: Draw, program: Program) -> bool:
    """`number = str(random.randint(0, 9))` in a function that does nothing with it."""
    facts, scope = draw.scope.facts, draw.scope
    match facts.parents.get(_outermost(draw.node, facts)):
        case ast.Assign(targets=[ast.Name() as target]) as statement if scope.kind == "function":
            return not reads_of_target(target, statement, scope, program) and not _reads_all_names(scope)
    return False


def _is_only_described(steps: Sequence[Link], program: Program) -> bool:
    """Whether one of the calls on the way to a draw gives an object that is only described, which is made there."""
    return any(
        isinstance(step.node, ast.Call)
        and _is_described(step.node, step.scope, program)
        and _is_made(step.node, step.scope, {s.node for s in steps[number:]}, program)
        for number, step in enumerate(steps)
    )


def is_measured(steps: Sequence[Link]) -> bool:
    """Whether of what one of the calls on the way to a draw gives only the shape is read:
    `dataset.__getitem__(0)[0].shape`."""
    return any(isinstance(step.node, ast.Call) and _has_form_read(step.node, step.scope.facts) for step in steps)


def is_left_behind(steps: Sequence[Link]) -> bool:
    """Whether one of the calls gives several things, and that of them which draws is not kept:
    `_, valid = get_transforms()`."""
    return any(_is_dropped(step, inner) for step, inner in pairwise(steps))


def _is_dropped(step: Link, inner: Link) -> bool:
    facts, function = inner.scope.facts, inner.scope.function
    match step.scope.facts.parents.get(step.node), function.returns:
        case ast.Assign(targets=[ast.Tuple(elts=kept)]), [ast.Tuple(elts=given)] if len(kept) == len(given):
            lost = [g for k, g in zip(kept, given, strict=True) if isinstance(k, ast.Name) and k.id == "_"]
        case _:
            return False
    around = {inner.node, *facts.ancestors(inner.node)} if lost else set()
    for part in lost:
        held = function.bindings.get(part.id, ()) if isinstance(part, ast.Name) else ()
        is_made_for_it = any(b.value in around for b in held) and all(r.node is part for r in reads(part.id, function))  # type: ignore[attr-defined]
        if part in around or is_made_for_it:
            return True
    return False


def _is_on_meta(steps: Sequence[Link], program: Program) -> bool:
    """Whether weights are made where there is no memory for them: `with torch.device("meta"): net = Net()`."""
    return any(
        isinstance(block, ast.With) and any(_is_undrawn(item.context_expr, step.scope, program) for item in block.items)
        for step in steps
        for block in ancestors(step.node, step.scope)
    )


def _is_undrawn(entered: ast.expr, scope: Scope, program: Program) -> bool:
    if not isinstance(entered, ast.Call):
        return False
    name, known = program.resolve(entered.func, scope), catalogue.table("rng")["undrawn"]
    if isinstance(name, Scope):  # in the project of the library itself
        return f"accelerate.{name.name}" in known["blocks"]
    is_meta = bool(entered.args) and program.literal(entered.args[0], scope) == "meta"
    return name in known["blocks"] or (name in known["devices"] and is_meta)


def _has_form_read(call: ast.Call, facts: ModuleFacts) -> bool:
    made: ast.AST = call
    while isinstance(outer := facts.parents.get(made), ast.Subscript) and outer.value is made:
        made = outer
    return isinstance(outer, ast.Attribute) and outer.attr in _FORM


def _is_made(call: ast.Call, scope: Scope, calls: Set[ast.AST], program: Program) -> bool:
    """Whether a call gives what one of `calls` constructs, or others in its place: `{"a": A, "b": B}[name]()`."""
    made = program.origins(call, scope)
    constructed = [origin.node for origin in made if _is_constructed(origin)]
    return len(constructed) == len(made) and not calls.isdisjoint(constructed)


def _is_constructed(origin: Origin) -> TypeGuard[Result]:
    match origin:
        case Result(callee=str() | Scope(kind="class")):
            return True
    return False


def _outermost(node: ast.AST, facts: ModuleFacts) -> ast.AST:
    """The number itself, or the text that is made of it."""
    for outer in facts.ancestors(node):
        match outer:
            case ast.BinOp() | ast.JoinedStr() | ast.FormattedValue():
                node = outer
            case ast.Call(func=ast.Name(id=name)) if name in _CONVERT:
                node = outer
            case _:
                break
    return node


def _reads_all_names(scope: Scope) -> bool:
    found = (site for name in ("locals", "vars", "eval", "exec") for site in scope.facts.calls.get(name, ()))
    return any(
        isinstance(call.func, ast.Name)
        and where.function is scope.function
        and (call.func.id != "vars" or not call.args)  # `vars(options)` has the names of an object
        for call, where in found
    )


def _is_described(call: ast.Call, scope: Scope, program: Program) -> bool:
    """Whether the result of a call is described at once, or held by a name of which all reads only describe it."""
    facts = scope.facts
    made: ast.AST = call
    while _is_moved(made, facts):
        made = facts.parents[facts.parents[made]]
    match facts.parents.get(made):
        case ast.Call(func=func, args=[first, *_]) if first is made:
            return _describes(func, scope, program)
        case ast.Attribute(attr=attr) as part if attr in _PARTS and (parts := facts.call_of(part)) is not None:
            return _is_measured(facts.parents.get(parts), parts, facts)
        case ast.Assign(targets=[ast.Name() as target]) as statement if scope.kind in ("function", "module"):
            if scope.binding_scope(target.id) is not scope or _reads_all_names(scope):
                return False
            if scope.kind == "module" and imported_reads(target.id, scope, program) != []:
                return False
            return all(_is_description(read, program) for read in reads_of_target(target, statement, scope, program))
    return False


def _is_moved(node: ast.AST, facts: ModuleFacts) -> bool:
    """`Net().to(device)`"""
    parent = facts.parents.get(node)
    return isinstance(parent, ast.Attribute) and parent.attr in _MOVE and facts.call_of(parent) is not None


def _describes(func: ast.expr, scope: Scope, program: Program) -> bool:
    name = last_name(func)
    return program.by_name(_DESCRIBE.search(name) is not None, "that a call only describes a model", scope, name)


def _is_description(read: Site, program: Program) -> bool:
    facts = read.scope.facts
    parent = facts.parents.get(read.node)
    match parent:
        case ast.FormattedValue() | ast.Delete():
            return True
        case ast.Call(func=func) if func is not read.node:
            return _describes(func, read.scope, program)
        case ast.Attribute(attr=attr, ctx=ast.Load()) if attr in _NAMES:
            return True
        case ast.Attribute(attr=attr, ctx=ast.Load()):
            call = facts.parents.get(parent)
            if not isinstance(call, ast.Call) or call.func is not parent:
                return False
            outer = facts.parents.get(call)
            if attr in _MOVE:
                return isinstance(outer, ast.Expr) and not _runs_own_method(call, read.scope, program)
            return attr in _PARTS and _is_measured(outer, call, facts)
    return False


def _runs_own_method(call: ast.Call, scope: Scope, program: Program) -> bool:
    """`trainer.train()` of a class of the project that is no module."""
    owners = (m.parent for m in program.runs(call, scope) if isinstance(m, Scope))
    return any(o is not None and o.kind == "class" and not program.external_bases(o) for o in owners)


def _is_measured(outer: ast.AST | None, parts: ast.Call, facts: ModuleFacts) -> bool:
    """`sum(p.numel() for p in net.parameters())`, and the loop that adds up: of each part, only the size is read."""
    match outer:
        case ast.comprehension(target=target) if outer.iter is parts:
            body: ast.AST | None = facts.parents.get(outer)
        case ast.For(target=target) if outer.iter is parts:
            body = outer
        case _:
            return False
    names = names_in(target)
    read = (n for n in walk(body or outer) if isinstance(n, ast.Name) and n.id in names)
    return all(_has_size_read(n, facts) for n in read if isinstance(n.ctx, ast.Load))


def _has_size_read(part: ast.expr, facts: ModuleFacts) -> bool:
    """`p.numel()`, `p.data.size()`"""
    match facts.parents.get(part):
        case ast.Attribute(attr="data") as data:
            return _has_size_read(data, facts)
        case ast.Attribute(attr=attr):
            return attr in _MEASURES
    return False


# -- weights over which others are loaded -----------------------------------------------------------------------------
def _are_loaded_over(chain: Sequence[Link], program: Program) -> bool:
    """Whether a function on the way to the weights' draw loads others over them and does not train, or a method that
    makes the model of what it reads does."""
    if any(_is_made_of_file(step.node) for step in chain):
        return True
    return any(
        _loads_over(step, program) and not any(_calls(name, step.scope.function) for name in ("backward", "step"))
        for step in chain
        if step.scope.function.kind in ("function", "module")
    )


def _is_made_of_file(call: ast.AST) -> bool:
    """`Net.load_from_checkpoint(path)`, with all its weights."""
    return (
        isinstance(call, ast.Call)
        and last_name(call.func) == "load_from_checkpoint"
        and not _is_partial(call, frozenset())
    )


def _loads_over(step: Link, program: Program) -> bool:
    """Whether the function that the step is in loads weights wherever the step is taken."""
    facts, function = step.scope.facts, step.scope.function
    made = [ast.unparse(t) for t in getattr(facts.statement(step.node), "targets", ())]
    loads = [call for call in _calls("load_state_dict", function) if not _copies(call) and not _is_partial(call, made)]
    if made and function.kind == "function":
        loads += [call for name in made for call in _loading(function, MAX_CALLS, program).get(name, ())]
    if not loads:
        return False
    around = set(facts.ancestors(step.node))
    others = _made_apart(frozenset(made), function) if made and all(map(str.isidentifier, made)) else ()
    return any(
        not (isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) in others)
        and all(a in around for a in facts.ancestors(call) if isinstance(a, ast.If | ast.IfExp | ast.ExceptHandler))
        and not _is_trained_between(step.node, call, facts)
        for call in loads
    )


@remembered_in_file
def _made_apart(names: frozenset[str], function: Scope) -> frozenset[str]:
    """What a function binds that nothing named so goes into, by its value or by a method: the other models."""
    bound = {n.id for n in walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    moves = [move for node in walk(function.node) if (move := _move(node)) is not None]
    held: set[str] = set()
    found = set(names)
    while held != found:
        held = set(found)
        for into, given in moves:
            if given & found:
                found |= into & bound  # no module, such as `torch`
    return frozenset(bound - found)


def _move(node: ast.AST) -> tuple[set[str], set[str]] | None:
    """The names that a statement or call may put something into, and those that it reads for it."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return names_in(*targets), names_in(value)
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.AugAssign(target=target, value=value)
            | ast.NamedExpr(target=target, value=value)
            | ast.For(target=target, iter=value)
            | ast.comprehension(target=target, iter=value)
            | ast.withitem(context_expr=value, optional_vars=ast.expr() as target)
        ):
            return names_in(target), names_in(value)
        case ast.Call(func=ast.Attribute(value=holder), args=args, keywords=keywords):
            return names_in(holder), names_in(*args, *keywords)
    return None


@remembered
def _loading(function: Scope, further: int, program: Program) -> dict[str, list[ast.Call]]:
    """The calls in a function of others that load all weights of what they are given, by the name that is given."""
    found: dict[str, list[ast.Call]] = {}
    for call, scope in function.calls:
        callee = program.resolve(call.func, scope)
        if isinstance(callee, Scope) and callee.kind == "function":
            for given in (argument for argument in call.args if isinstance(argument, ast.Name)):
                parameter = parameter_at(callee, None, argument_place(call, given))
                if parameter is not None and parameter in _loaded(callee, further - 1, program):
                    found.setdefault(given.id, []).append(call)
    return found


@remembered
def _loaded(function: Scope, further: int, program: Program) -> frozenset[str]:
    """The names whose weights a function loads in any case, all of them."""
    loads = [call for call in _calls("load_state_dict", function) if not _copies(call) and not _is_partial(call, ())]
    held = [(call.func.value, call) for call in loads if isinstance(call.func, ast.Attribute)]
    found = [(holder.id, call) for holder, call in held if isinstance(holder, ast.Name)]
    for name, calls in _loading(function, further, program).items() if further else ():
        found += [(name, call) for call in calls]
    body = getattr(function.node, "body", ())
    return frozenset(name for name, call in found if function.facts.statement(call) in body)


def _are_set_by_hand(last: Link) -> bool:
    """`layer = nn.Linear(4, 2, bias=False)`, `layer.weight.data = known`: all weights of a layer are given others
    before anything else is done with it."""
    facts = last.scope.facts
    match facts.parents.get(last.node), last.node:
        case ast.Assign(targets=[target]) as made, ast.Call(func=func, keywords=keywords):
            name, given = ast.unparse(target), _set_by_hand(last.scope.function)
        case _:
            return False
    if not any(_follows(s, made, facts) for s in given.get(f"{name}.weight", ())):
        return False
    if last_name(func) in _WITHOUT_BIAS or any(_follows(s, made, facts) for s in given.get(f"{name}.bias", ())):
        return True
    return any(k.arg == "bias" and isinstance(k.value, ast.Constant) and k.value.value is False for k in keywords)


def _follows(later: ast.stmt, made: ast.stmt, facts: ModuleFacts) -> bool:
    """Whether a statement runs wherever another one has made a layer, but for a test on whether there is a bias."""
    while isinstance(block := facts.parents[later], ast.With | ast.If):
        if isinstance(block, ast.If) and "bias" not in ast.unparse(block.test):
            break
        later = block
    if later.lineno < made.lineno:
        return False
    siblings, item = block_of(facts, later), made
    while item not in siblings:
        outer = facts.parents.get(item)
        if not isinstance(outer, ast.stmt) or isinstance(outer, (LoopNode, *DEFINITIONS)):
            return False
        item = outer
    return True


@remembered_in_file
def _set_by_hand(function: Scope) -> dict[str, list[ast.stmt]]:
    """The parameters of layers that a function gives other values, not made of those that they have, and where: of each
    layer, as long as nothing else has been done with it."""
    nodes = list(run_with(getattr(function.node, "body", ())))
    statements = (node for node in nodes if isinstance(node, ast.stmt))
    given = {held[0]: (held[1], s) for s in statements if (held := _parameter_given(s)) is not None}
    is_new = {ast.unparse(layer): False for layer in given}
    found: dict[str, list[ast.stmt]] = {}
    for node in nodes if given else ():
        if not isinstance(node, ast.Name | ast.Attribute) or (name := ast.unparse(node)) not in is_new:
            continue
        if node not in given:
            is_new[name] = isinstance(node.ctx, ast.Store)
        elif is_new[name]:
            part, statement = given[node]
            found.setdefault(f"{name}.{part}", []).append(statement)
    return found


def _parameter_given(statement: ast.stmt) -> tuple[ast.expr, str] | None:
    """`layer` and "weight" of `layer.weight.data = known` and `layer.weight.copy_(known)`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute() as target], value=value):
            pass
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Attribute() as target, attr="copy_"), args=[value])):
            pass
        case _:
            return None
    if target.attr == "data" and isinstance(target.value, ast.Attribute):
        target = target.value
    if target.attr not in ("weight", "bias"):
        return None
    is_made_of_it = re.search(rf"(?<!\w){re.escape(ast.unparse(target.value))}(?!\w)", ast.unparse(value))
    return (target.value, target.attr) if not is_made_of_it else None


def _is_partial(load: ast.Call, made: Collection[str]) -> bool:
    """Whether some weights stay as they were drawn: `net.body.load_state_dict(...)`, or with `strict=False`."""
    if any(k.arg == "strict" and isinstance(k.value, ast.Constant) and k.value.value is False for k in load.keywords):
        return True
    match load.func:
        case ast.Attribute(value=ast.Attribute(value=whole, attr=part)):
            return part != "module" and ast.unparse(whole) in made
    return False


def _is_trained_between(built: ast.AST, load: ast.Call, facts: ModuleFacts) -> bool:
    """Whether the same block makes the weights which are loaded, the best ones, between the two: a loop does, or a
    statement that trains or saves what was built."""
    around, first = set(facts.ancestors(load)), built.lineno  # type: ignore[attr-defined]
    blocks = (getattr(a, "body", []) for a in facts.ancestors(built) if a in around)
    made = names_in(*getattr(facts.statement(built), "targets", ()))
    return any(
        isinstance(n, ast.For | ast.While | ast.Expr | ast.Assign)
        and n not in around
        and first < n.lineno < load.lineno
        and any(_makes(made if isinstance(n, ast.Expr | ast.Assign) else None, call) for call in calls_in(n))
        for block in blocks
        if isinstance(block, list)
        for n in block
    )


def _makes(made: Set[str] | None, call: ast.Call) -> bool:
    """Whether a call, by its name, trains or saves what has one of these names, or whatever it is."""
    is_meant = made is None or not made.isdisjoint(names_in(*arguments_of(call)))
    return is_meant and re.search(_TRAINING, last_name(call.func)) is not None


def _copies(load: ast.Call) -> bool:
    """Whether the weights are another model's, as a target network's: `target.load_state_dict(model.state_dict())`."""
    match load.args[:1]:
        case [ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(), attr="state_dict"))]:
            return True
    return False


def _calls(name: str, function: Scope) -> list[ast.Call]:
    """The calls of that name in this very function."""
    return [call for call, where in function.facts.calls.get(name, ()) if where.function is function]


# -- numbers that are no data -----------------------------------------------------------------------------------------
@remembered
def is_besides(draw: Draw, program: Program) -> bool:
    """`args.seed = random.randint(...)` picks a seed, it is not drawn after one; a port, an address or the name of a
    run is no result, and runs that share it get into each other's way. Nor are the colours of a plot, or what a kernel
    is only tried out with."""
    if _is_in_address(draw, program) or _is_given_as_seed(draw) or _is_tried_out(draw):
        return True
    if _is_never_read(draw, program) or _spells_a_name(draw):
        return True
    written = _written(draw)
    is_number = draw.what.rpartition(".")[2] in _NUMBERS  # no name of what is computed with: `run_name = randint(0, 9)`
    found = next(filter(_is_label, written), "")
    found = found or next((n for n in written if is_number and n.rpartition("_")[2] == "name"), "")
    found = found or _seed_with_default(draw) or _label_of_function(draw)
    return program.by_name(bool(found), "that what is drawn is a seed or a label", draw.scope, found)


@remembered
def tells_runs_apart(draw: Draw, program: Program) -> bool:
    """Whether what is drawn is there for runs to differ in: their names, the files that they write, their ports."""
    labels = catalogue.table("generators")["labels"]
    ends = (*labels["of_runs"], *labels["never_data"])
    found = _label_of_function(draw) or next((name for name in _written(draw) if name.endswith(ends)), "")
    found = found or next((n for n in _written(draw) if _is_label_in_text(n, draw)), "")
    is_named = program.by_name(bool(found), "that what is drawn is a label", draw.scope, found)
    return is_named or _spells_a_name(draw) or _is_in_address(draw, program)


def _is_label_in_text(name: str, draw: Draw) -> bool:
    """Whether a name is that of a label, or of one whole number, and what it holds becomes part of a text that is more
    than printed: `Writer(f"runs/{self.training_id}")`."""
    labels, last = catalogue.table("generators")["labels"], name.rpartition("_")[2]
    is_number = last in labels["numbers"] and draw.what.rpartition(".")[2] in _NUMBERS
    return (is_number or last in labels["words"]) and name in _put_into_texts(draw.scope.facts)


@remembered_in_file
def _put_into_texts(facts: ModuleFacts) -> frozenset[str]:
    """The names, in small letters, of what a file puts into texts that it does not only print."""
    values = [value for node in walk(facts.tree) for value in _filled_in(node)]
    return frozenset(last_name(v).lower() for v in values if not _is_printed(v, facts))


def _filled_in(node: ast.AST) -> Sequence[ast.expr]:
    """What becomes part of a text: `f"{run}"`, `"{}".format(run)`, `"%d" % run`, `str(run)`, `"runs/" + run`."""
    match node:
        case ast.FormattedValue(value=value):
            return [value]
        case ast.Call(func=ast.Attribute(attr="format") | ast.Name(id="str"), args=args, keywords=keywords):
            return [*args, *(k.value for k in keywords)]
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod(), right=ast.Tuple(elts=values)):
            return values
        case ast.BinOp(left=ast.Constant(value=str()), op=ast.Mod() | ast.Add(), right=value):
            return [value]
        case ast.BinOp(left=value, op=ast.Add(), right=ast.Constant(value=str())):
            return [value]
    return ()


def _is_printed(node: ast.AST, facts: ModuleFacts) -> bool:
    calls = (outer for outer in facts.ancestors(node) if isinstance(outer, ast.Call))
    return any(_DESCRIBE.search(last_name(call.func)) for call in calls)


def _written(draw: Draw) -> list[str]:
    """What the names say that a draw is given, or that it orders: `random.shuffle(colors)`."""
    statement = draw.scope.facts.statement(draw.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    ordered = draw.node.args[:1] if draw.kind == "order" and not targets else []
    return [_name_of(t).lower() for t in (*targets, *ordered)]


def _label_of_function(draw: Draw) -> str:
    """The name of the function that draws, where it says what no data are: `get_port()`, `make_run_name()`."""
    labels, name = catalogue.table("generators")["labels"], draw.scope.function.own_name.lower()
    is_label = name.rpartition("_")[2] in labels["never_data"] or name.endswith(tuple(labels["of_runs"]))
    return name if is_label else ""


def _spells_a_name(draw: Draw) -> bool:
    """`"".join(random.choice(string.ascii_letters) for _ in range(6))`: letters of both cases are no data. A list of
    them may also be shuffled first."""
    function = draw.scope.function
    joins = any(isinstance(n, ast.Call) and last_name(n.func) == "join" for n in ancestors(draw.node, draw.scope))
    joins = joins or (draw.kind == "order" and function.kind == "function" and bool(_calls("join", function)))
    spelt = function.node if function.kind == "function" else draw.scope.facts.statement(draw.node)
    return joins and any(isinstance(n, ast.expr) and last_name(n) == "ascii_letters" for n in walk(spelt))


def _seed_with_default(draw: Draw) -> str:
    """The option whose default is drawn, where it is the seed."""
    match draw.scope.facts.parents.get(draw.node):
        case ast.keyword(arg="default") as default:
            declared = draw.scope.facts.parents[default]
            texts = map(attribute_of, flags_of(declared)) if isinstance(declared, ast.Call) else ()
            return next((text for text in texts if SEED_NAME.fullmatch(text) or _is_label(text)), "")
    return ""


def _is_label(name: str) -> bool:
    labels = catalogue.table("generators")["labels"]
    is_of_run = name.endswith(tuple(labels["of_runs"]))
    last = name.rpartition("_")[2]
    return is_of_run or "seed" in name or last in labels["never_data"] or last in labels["of_plots"]


def _name_of(target: ast.expr) -> str:
    """`port`, `args.port`, `os.environ["MASTER_PORT"]`."""
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        return str(target.slice.value)
    return last_name(target)


def _is_in_address(draw: Draw, program: Program) -> bool:
    """`f"tcp://localhost:{random.randint(10000, 20000)}"`, however the text is put together."""
    whole: ast.AST = draw.node
    for outer in draw.scope.facts.ancestors(draw.node):
        if not (isinstance(outer, ast.JoinedStr | ast.BinOp | ast.FormattedValue) or _makes_text(outer)):
            break
        whole = outer
    return whole is not draw.node and _holds_address(whole, program)


@remembered
def _holds_address(text: ast.AST, program: Program) -> bool:  # noqa: ARG001
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) and "://" in n.value for n in walk(text))


def _is_tried_out(draw: Draw) -> bool:
    """`try: kernel(torch.randn(3)) except RuntimeError: HAS_KERNEL = False` at the top of a module: something is called
    with it there, and what the body makes is read nowhere else."""
    facts, scope = draw.scope.facts, draw.scope
    if scope.kind != "module" or draw.kind != "sample":
        return False
    trying = next((a for a in facts.ancestors(draw.node) if isinstance(a, ast.Try)), None)
    if trying is None or facts.statement(draw.node) not in trying.body:
        return False
    used = _made_to_try(trying, scope)
    return used is not None and any(isinstance(facts.parents.get(node), ast.Call) for node in (draw.node, *used))


@remembered_in_file
def _made_to_try(trying: ast.Try, scope: Scope) -> Sequence[ast.expr] | None:
    """Where a `try` that is a trial and nothing else reads the names that it binds, which nothing else does."""
    handled = [statement for handler in trying.handlers for statement in handler.body]
    if not handled or not all(isinstance(s, ast.Assign) and isinstance(s.value, ast.Constant) for s in handled):
        return None
    if not all(isinstance(s, _PLAIN) for s in trying.body):
        return None
    names = {n.id for s in trying.body for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    used = [site.node for name in names for site in reads(name, scope)]
    return used if all(trying in scope.facts.ancestors(node) for node in used) else None


def _is_given_as_seed(draw: Draw) -> bool:
    """`set_seed(random.randint(0, 99))`."""
    outer = draw.scope.facts.parents.get(draw.node)
    return isinstance(outer, ast.Call) and SEEDS_BY_NAME.search(last_name(outer.func)) is not None


def _makes_text(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="str")) | ast.Call(func=ast.Attribute(attr="format")):
            return True
    return False
