"""Programs whose results are meant to vary, since they answer whoever asks: web services, demonstrations, chats. A
constant seed would give everyone the same."""

from __future__ import annotations

import ast

from torchrepro_lint import catalogue
from torchrepro_lint.seeding.seeding import Seeding


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
