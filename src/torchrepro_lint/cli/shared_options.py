"""What the commands share: options under headings in their --help, an epilog that keeps its lines, and the options that
several of them have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Option(click.Option):
    """An option that is listed under the heading `section`."""

    def __init__(self, *args: Any, section: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class Epilog(click.Command):
    """A command whose epilog keeps its lines."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.epilog:
            formatter.write("\n" + self.epilog)


class Command(Epilog):
    """A command whose options are listed by section, in the order in which sections first appear."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and not isinstance(parameter, click.Argument):
                title = parameter.section if isinstance(parameter, Option) else "Other"
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def option(section: str, *names: str, **attributes: Any) -> Decorator:
    """An option that is listed under the heading `section`."""
    return click.option(*names, cls=Option, section=section, **attributes)


def completed_by(name: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """What a shell offers for a word: a function of `suggestions`, which no other run imports."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from torchrepro_lint.cli import suggestions

        found: list[CompletionItem] = getattr(suggestions, name)(ctx, param, incomplete)
        return found

    return complete


def text_or_json(section: str, help: str) -> Decorator:
    """`--output-format`, for a command that writes for people or for programs."""
    return option(
        section,
        "--output-format",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help=help,
    )


def color(section: str) -> Decorator:
    """`--color`."""
    return option(
        section,
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="auto: colours on a terminal only.",
    )


class GivenPath(click.Path):
    """A file or a folder. An empty word is refused: it comes from a shell variable that is not set."""

    def __init__(self) -> None:
        super().__init__(readable=False, path_type=Path)  # one that is not is reported, and the others checked

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("an empty path; the current folder is written as a dot", param, ctx)
        return super().convert(value, param, ctx)


def paths() -> Decorator:
    """`PATHS`."""
    return click.argument("paths", nargs=-1, type=GivenPath(), metavar="[PATHS]...")


def config(section: str) -> Decorator:
    """`--config`."""
    return option(
        section,
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Take the settings from this TOML file, and from no other.",
    )


def isolated(section: str) -> Decorator:
    """`--isolated`."""
    return option(section, "--isolated", is_flag=True, help="Ignore all configuration files.")
