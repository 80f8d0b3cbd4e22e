"""Programs whose results are meant to vary. Those that answer whoever asks, web services, demonstrations, chats: a
constant seed would give everyone the same. Those that sample pictures, sounds or texts for a person to look at: with a
constant seed they would show the same ones whenever they are run."""

from __future__ import annotations

import ast
import re

from torchrepro_lint import catalogue
from torchrepro_lint.dataflow.program import Program
from torchrepro_lint.project.entries import is_tried_out
from torchrepro_lint.seeding.seeding import Seeding
from torchrepro_lint.seeding.unfollowed import uses_tensors


def is_demonstration(seeding: Seeding) -> bool:
    """Whether a program trains nothing, and serves requests or reads what a person types again and again."""
    if seeding.trains:
        return False
    web = catalogue.table("frameworks")["web"]["packages"]
    return any(
        not facts.packages.isdisjoint(web)
        or any(
            seeding.runs(call, scope) and any(isinstance(a, ast.While | ast.For) for a in facts.ancestors(call))
            for call, scope in facts.calls.get("input", ())
            if isinstance(call.func, ast.Name)
        )
        for facts in seeding.visited
    )


def is_for_looking(seeding: Seeding) -> bool:
    """Whether a program trains nothing, and only shows what it samples from a model: nothing is measured, nor kept for
    other programs."""
    if seeding.trains or not seeding.loads_weights or not seeding.sampled:
        return False
    rows = catalogue.table("rng")["looked_at"]
    measured = (n for n in sorted(seeding.reached) if re.search("|".join(rows["measured"]), n, re.IGNORECASE))
    if (told := next(measured, None)) is not None:
        return not seeding.says(True, "that a program measures what it samples", told)
    folder = seeding.entry.facts.source.path.parent
    files = [facts for facts in seeding.visited if folder in facts.source.path.parents]
    called = {name for facts in files for name in facts.calls} & seeding.reached
    own = {function.name.rpartition(".")[2] for function in seeding.entered if function.facts in files}
    makes = any(not facts.packages.isdisjoint(rows["packages"]) for facts in seeding.visited)
    if makes or any(_is_picture(call) for call, _ in seeding.calls("save")):
        return True
    names = (*sorted(called), *sorted(f"own {name}" for name in own))
    told = next((name for name in names if re.fullmatch("|".join(rows["shown"]), name)), "")
    return seeding.says(bool(told), "that a program only shows what it samples", told)


def is_trial(seeding: Seeding, program: Program) -> bool:
    """Whether a module of the project is tried out under its own guard: nothing is trained there, measured or saved."""
    entry = seeding.entry
    if not entry.is_guarded or seeding.trains or not is_tried_out(entry.facts, program.project):
        return False
    measured = re.compile("|".join(catalogue.table("rng")["looked_at"]["measured"]), re.IGNORECASE)
    return "save" not in seeding.reached and not any(map(measured.search, seeding.reached))


def is_elsewhere(seeding: Seeding) -> bool:
    """Whether a program without PyTorch draws for another framework, or for a service, which its seeds do not reach."""
    others = frozenset(catalogue.table("frameworks")["elsewhere"]["packages"])
    return not uses_tensors(seeding) and any(not facts.packages.isdisjoint(others) for facts in seeding.visited)


def _is_picture(saving: ast.Call) -> bool:
    """Whether the name of a file that is saved says that it is a picture, a sound or a film."""
    texts = (
        n.value for a in saving.args for n in ast.walk(a) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    )
    return any(text.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".wav", ".mp3", ".mp4")) for text in texts)
