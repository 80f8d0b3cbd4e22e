"""What a shell offers when a word is completed: rules, operations, revisions, formats of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes, groups and names of rules; in a list with commas, the last one."""
    before, comma, last = incomplete.rpartition(",")
    return _matching(_rules(), last, before + comma)


def operations(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The ids of the catalogue's operations."""
    from torchrepro_lint.kernels.operations import every

    return _matching(((operation.id, "") for operation in every()), incomplete)


def revisions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Branches and tags of the repository around; none where there is none."""
    from torchrepro_lint.git import GitError, Repository

    try:
        return _matching(((name, "") for name in Repository(Path.cwd()).names()), incomplete)
    except GitError:
        return []


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell knows best."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _rules() -> Iterator[tuple[str, str]]:
    from torchrepro_lint import cards

    known = cards.codes()
    yield "ALL", "every rule"
    for group in sorted({code[:4] for code in known}):
        yield group, ", ".join(name for code, name in known.items() if code.startswith(group))
    yield from known.items()
    yield from ((name, code) for code, name in known.items())


def _matching(words: Iterator[tuple[str, str]], incomplete: str, before: str = "") -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    wanted = incomplete.lower()
    return [CompletionItem(before + word, help=told) for word, told in words if word.lower().startswith(wanted)]
