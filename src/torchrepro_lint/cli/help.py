"""Formatting of --help: options under headings, and an epilog printed as it is written."""

from __future__ import annotations

from typing import Any

import click


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
