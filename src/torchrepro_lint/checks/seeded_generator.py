"""The fix that TRP201 and TRP203 share: give a loader, sampler or split its own seeded generator.

Inside a loop or comprehension the generator is made before it: made again in each iteration, it would give each
iteration the same numbers, unless each seeds for itself. Where each epoch makes a new sampler, the generator has to
outlive it, and there is no fix.
"""

from __future__ import annotations

import ast
import re
from functools import partial

from torchrepro_lint import catalogue
from torchrepro_lint.checks.draft import Fix
from torchrepro_lint.checks.generator_doubts import is_unclear
from torchrepro_lint.checks.seed_calls import imported_seed, named_seeds, seed_in_sight
from torchrepro_lint.dataflow import Call, Program, Site, remembered, remembered_in_file
from torchrepro_lint.dataflow.enclosing import loops_around
from torchrepro_lint.dataflow.execution_count import times
from torchrepro_lint.index import Comprehension, ModuleFacts, Scope, keyword_value
from torchrepro_lint.loading import same_order
from torchrepro_lint.loading.loaders import argument
from torchrepro_lint.model import Edit
from torchrepro_lint.project.versions import allowed_in
from torchrepro_lint.rng.own_seed import generator_seed, numbered, seeded_in_round
from torchrepro_lint.syntax import Import, import_name, insert_before, is_within_width, top_line, with_argument

MAX_USERS = 40  # files that import another, directly or not
_SEEDS = ("manual_seed", "seed_everything", "set_seed")
_PLAIN = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Return
_KIND = re.compile(r"_?(?:data_?)?loader$", re.IGNORECASE)


def seeded_generator(call: Call, program: Program) -> Fix:
    """Pass `generator=torch.Generator().manual_seed(SEED)`, or no edits where a person has to decide."""
    passed = argument(call, "generator")
    if passed is not None and not _replaceable(call, passed):
        return Fix()
    if call.subclass is not None and isinstance(call.node.func, ast.Attribute) and call.node.func.attr == "__init__":
        return Fix()  # the class should take a generator and hand it on
    exists = allowed_in(program.project.torch_version, catalogue.names("loaders", "arguments")["generator"]["torch"])
    runs = times(program, call.scope)
    is_new = runs == "often" or (call.scope.kind != "module" and _is_handed_out(call, program))
    if is_new or exists == "none" or same_order.is_made_for_each_epoch(call):
        return Fix()  # made there, it would give each epoch the same order
    loop, seed = _made_above(call, program)
    unsafe = exists == "some" or runs == "unknown" or is_unclear(call, seed, program) or _has_name(call, seed)
    if call.scope.kind != "module" and "torch" in call.scope.function.bindings and not unsafe:
        unsafe = import_name(call.facts, "torch.Generator", call.scope, loop or call.node).text.startswith("_")
    return Fix(partial(_edits, call, loop, seed, program), unsafe)


def _is_handed_out(call: Call, program: Program) -> bool:
    """Whether a method that nobody in sight calls returns a new loader to whoever asks for one: `loaders.train()`."""
    function = call.scope.function
    is_method = function.method_class is not None and isinstance(call.facts.parents[call.node], ast.Return)
    return is_method and not program.callers.in_sight(function)


def _made_above(call: Call, program: Program) -> tuple[ast.stmt | None, str]:
    """The loop or comprehension above which the generator is made, and its seed. A round that seeds for itself makes
    its own: what comes before it has no part in its numbers."""
    loop = _comprehending(call)
    for around in loops_around(call.facts, call.node):
        if (seed := seeded_in_round(call.scope.function, around, call.node, program)) is not None:
            return loop, seed
        loop = around
    return loop, generator_seed(call.scope, loop or call.node, program)


def _edits(call: Call, loop: ast.stmt | None, seed: str, program: Program) -> tuple[Edit, ...]:
    """Inline where the line stays short enough, else on a line above."""
    facts, style = call.facts, program.project.style
    made = import_name(facts, "torch.Generator", call.scope, loop or call.node)
    if seed.isdecimal() and any(named_seeds(facts, program)) and (named := _named(call, seed)) is not None:
        seed, made = named.text, made._replace(edits=(*made.edits, *named.edits))
    generator = f"{made.text}().manual_seed({numbered(seed, same_order.number_beside(call))})"
    inline = with_argument(facts, call.node, "generator", generator, style)
    is_broken = "\n" in inline.text and call.node.lineno == call.node.end_lineno
    # What the call is part of may be laid out anew.
    is_apart = inline.text.startswith("(") or (is_broken and isinstance(facts.parents[call.node], ast.Call))
    if loop is None and is_within_width(facts, inline, style) and not is_apart:
        return (inline, *made.edits)
    above = loop or _holding(call)
    if above is None:
        return (inline, *made.edits)
    name = _free_name(call)
    passed = with_argument(facts, call.node, "generator", name, style)
    if is_apart and loop is None and "\n" in passed.text:
        return (inline, *made.edits)
    apart = [""] if loop is not None and top_line(facts, above) < above.lineno else []  # its comments are not ours
    before = insert_before(facts, above, f"{name} = {generator}", *apart, below_comments=loop is None)
    return (before, passed, *made.edits)


def _named(call: Call, number: str) -> Import | None:
    """The name that the file has for the number, or that it has in a module from which the file imports others."""
    name = seed_in_sight(call.scope, call.node, call.program, number)
    return Import(name) if name is not None else imported_seed(call.scope, call.node, call.program, number)


def _has_name(call: Call, seed: str) -> bool:
    """Whether what runs the file has a name for the number, with which it seeds, but the file has none: who gives it
    another value wants that here, too."""
    return seed in _numbers_of_users(call.facts, call.program) and _named(call, seed) is None


@remembered
def _numbers_of_users(facts: ModuleFacts, program: Program) -> frozenset[str]:
    """The numbers of the constants with which the files seed that use this one."""
    users = program.project.users([facts.source.path]) if not facts.source.cells else []
    return frozenset().union(*(_seeding_constants(user, program) for user in program.loaded(users[:MAX_USERS])))


@remembered
def _seeding_constants(facts: ModuleFacts, program: Program) -> frozenset[str]:
    """The numbers of the constants that a file seeds torch with: `torch.manual_seed(SEED)`."""
    given = ((a, scope) for name in _SEEDS for call, scope in facts.calls.get(name, ()) for a in call.args[:1])
    named = (site for site in given if isinstance(site[0], ast.Name))
    return frozenset(str(program.literal(*site)) for site in named)


def _replaceable(call: Call, passed: object) -> bool:
    """Only `None` and PyTorch's own global generator, written at this call, can be replaced."""
    keyword = keyword_value(call.node, "generator")
    if keyword is None or not isinstance(passed, Site) or passed.node is not keyword:
        return False
    return isinstance(keyword, ast.Constant) or call.program.qualified(keyword, call.scope) is not None


def _comprehending(call: Call) -> ast.stmt | None:
    """The statement with a comprehension that makes the call for each of its items, where a line can go above it."""
    found = False
    child: ast.AST = call.node
    for parent in call.facts.ancestors(call.node):
        if isinstance(parent, ast.Lambda):
            return None
        if isinstance(parent, Comprehension):
            found = found or child is not parent.generators[0]
        if isinstance(parent, ast.stmt):
            in_class = isinstance(call.facts.parents[parent], ast.ClassDef)
            return parent if found and isinstance(parent, _PLAIN) and not in_class else None
        child = parent
    return None


def _holding(call: Call) -> ast.stmt | None:
    """The statement that makes the call, where a line can go above it."""
    around = list(call.facts.ancestors(call.node))
    statement = next(node for node in around if isinstance(node, ast.stmt))
    in_class = isinstance(call.facts.parents[statement], ast.ClassDef)
    is_later = any(isinstance(node, ast.Lambda) for node in around[: around.index(statement)])
    return statement if isinstance(statement, _PLAIN) and not in_class and not is_later else None


def _free_name(call: Call) -> str:
    """A name for the generator: of a second one, after what it is for."""
    function, number = call.scope.function, same_order.number_beside(call)
    inside, outside = _names_in(function), function.facts.scope.bindings
    held = _KIND.sub("", same_order.held_in(call)) or "loader"
    numbered_one = f"generator_{number + 1}"
    names = [f"{held}_generator", numbered_one] if number else ["generator", "loader_generator"]
    if number and (above := same_order.named_above(call)):
        name = f"{held}_generator" if same_order.number_beside(above[0]) else "generator"
        names = [f"{name}_{len(above) + 1}", numbered_one]  # the others of its name may get the one without a number
    if same_order.is_split_beside(call):
        names = ["split_generator"]
    return next(n for n in (*names, "data_generator", "seeded_generator_") if n not in inside and n not in outside)


@remembered_in_file
def _names_in(function: Scope) -> set[str]:
    return {name for scope in function.descend() for name in scope.bindings}
