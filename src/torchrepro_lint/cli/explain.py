"""`torchrepro-lint explain`: what was found out about the programs in some files, on which findings are based."""

from __future__ import annotations

from pathlib import Path

import click

from torchrepro_lint.cli import shared_options
from torchrepro_lint.cli.shared_options import Command

_EPILOG = """\
Examples:
  torchrepro-lint explain train.py
  torchrepro-lint explain scripts/ --output-format json

Exit codes:
  0  explained, also when no program starts in the files
  2  a path is missing, or a file cannot be read or parsed
"""


@click.command(
    "explain",
    cls=Command,
    epilog=_EPILOG,
    short_help="Show what was found out about a program: its start, seeds and draws.",
)
@shared_options.paths()
@shared_options.text_or_json("Output", "json: one object with everything that the text says.")
@shared_options.color("Output")
@shared_options.config("Settings")
@shared_options.isolated("Settings")
def explain(paths: tuple[Path, ...], output_format: str, color: str, config: Path | None, isolated: bool) -> int:
    """Show what was found out about each program: where it starts, what it seeds and when, what it draws first.

    Useful where a finding on seeds is doubtful or missing. PATHS are files and folders, by default the current
    folder; imports are followed through the whole project.
    """
    if isolated and config:
        raise click.UsageError("--isolated reads no configuration file, --config names one")
    from torchrepro_lint import cards
    from torchrepro_lint.cli import streams
    from torchrepro_lint.engine import Request, Run
    from torchrepro_lint.explaining import explain as explained_by
    from torchrepro_lint.projects import apart
    from torchrepro_lint.report import Context
    from torchrepro_lint.report.explanation import render_json, render_text
    from torchrepro_lint.settings import SettingsError, SettingsResolver

    try:
        resolver = SettingsResolver(cards.codes(), isolated=isolated, config=config)
        requests = apart(Request(paths or (Path(),), resolver))
        if output_format == "json" and len(requests) > 1:
            raise streams.Failure(f"--output-format json: the paths belong to {len(requests)} projects; name one")
        found = [explained_by(run, run.files) for run in map(Run, requests)]
    except SettingsError as error:
        raise streams.Failure(str(error)) from None
    context = Context(streams.wants_color(color), streams.width(), Path.cwd(), fixing=False)
    if output_format == "json":
        streams.as_utf8()
    for explained in found:
        streams.write(render_json(explained) if output_format == "json" else render_text(explained, context))
    problems = [problem for explained in found for problem in explained.problems]
    for problem in problems:
        streams.complain(problem)
    return 2 if problems else 0
