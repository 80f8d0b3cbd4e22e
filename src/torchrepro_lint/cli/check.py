"""`torchrepro-lint check`: its options, and their help."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from torchrepro_lint.cli.options import Options, Output, Threshold
from torchrepro_lint.cli.shared_options import Command, color, completed_by, config, isolated, option, paths
from torchrepro_lint.elements import Certainty, Level
from torchrepro_lint.report import RENDERERS

MAX_JOBS = 256
_EPILOG = """\
Safe and unsafe:
  A safe fix can change only what its rule is about: which random numbers are
  drawn, in which order, by which kernel. An unsafe fix may raise, guess a name,
  or change what the data mean: read the --diff first.

Examples:
  torchrepro-lint src/ train.py
  torchrepro-lint . --select TRP2,TRP3 --fix
  torchrepro-lint . --diff --unsafe-fixes | git apply
  torchrepro-lint - --stdin-filename src/train.py < src/train.py
  torchrepro-lint . --output-format github -o sarif:findings.sarif
  torchrepro-lint . --write-baseline known.txt
  torchrepro-lint . --baseline known.txt --fail-on certain
  torchrepro-lint . --changed-since origin/main

Exit codes:
  0  nothing found, or everything that was found is fixed
  1  something found at or above --fail-on
  2  some of the work could not be done: a wrong option or configuration, a
     missing path, a file that cannot be read or parsed (the other files are
     still checked), or nothing to check at all

Environment:
  NO_COLOR, FORCE_COLOR  switch colours off or on where --color is auto
  PRE_COMMIT=1           makes `concise` the default format

Settings are read from [tool.torchrepro-lint] in pyproject.toml or from
torchrepro-lint.toml, whichever is closest to a file.
"""


# -- the values of options, from words of the command line ------------------------------------------------------------
def threshold(ctx: click.Context, parameter: click.Parameter, value: str) -> Threshold:
    """`warning`, `certain`, or both with a comma between them."""
    found = Threshold()
    for word in value.split(","):
        match word.strip():
            case "error" | "warning" as level:
                found = found._replace(level=Level(level))
            case "certain" | "likely" as certainty:
                found = found._replace(certainty=Certainty(certainty))
            case other:
                raise click.BadParameter(f"{other!r} is none of error, warning, certain and likely")
    return found


def jobs(ctx: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """A number of processes, None for `auto`."""
    if value == "auto":
        return None
    if not value.isdecimal() or not 0 < int(value) <= MAX_JOBS:
        raise click.BadParameter(f"{value!r} is neither auto nor a number from 1 to {MAX_JOBS}")
    return int(value)


def outputs(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[Output, ...]:
    """Each FILE or FORMAT:FILE. What stands before the colon is a format only if there is one of that name."""
    return tuple(map(_report, value))


def _report(text: str) -> Output:
    name, colon, path = text.partition(":")
    if colon and name in RENDERERS:
        if not path:
            raise click.BadParameter(f"{text!r} names no file")
        return Output(name, Path(path))
    return Output(None, Path(text))


def split(ctx: click.Context, parameter: click.Parameter, value: Sequence[str]) -> tuple[str, ...]:
    """The rules in an option that may be repeated and holds a comma-separated list."""
    rules = tuple(rule.strip() for text in value for rule in text.split(",") if rule.strip())
    if value and not rules:
        raise click.BadParameter("names no rule")
    return rules


# -- the command -------------------------------------------------------------------------------------------------------
_rules = partial(option, "Rules", metavar="RULES", multiple=True, callback=split, shell_complete=completed_by("rules"))
_files = partial(option, "Files")
_fixes = partial(option, "Fixes")
_output = partial(option, "Output")
_known = partial(option, "What is reported")
_exit = partial(option, "Exit code")
_settings = partial(option, "Settings")


class _Check(Command):
    """`check`, whose --add-noqa takes a value only behind an equals sign: what follows it is a path."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, ["--add-noqa=" if arg == "--add-noqa" else arg for arg in args])


@click.command("check", cls=_Check, epilog=_EPILOG)
@paths()
@_rules(
    "--select",
    help="Run only these rules: codes (TRP201), names (loader-without-generator), prefixes (TRP2) or ALL, "
    "separated by commas.",
)
@_rules("--ignore", help="Do not run these rules.")
@_rules("--extend-select", help="Run these rules as well, such as those that are off by default.")
@_fixes("--fix", is_flag=True, help="Make the safe fixes, then report what is left.")
@_fixes("--unsafe-fixes", is_flag=True, help="With --fix, --fix-only or --diff: the unsafe fixes too.")
@_fixes("--fix-only", is_flag=True, help="Make the fixes and do not report what is left.")
@_fixes("--diff", is_flag=True, help="Write nothing; show what the fixes would change. Exit code 1 if anything.")
@_fixes(
    "--add-noqa",
    metavar="[=REASON]",
    help="Write a `# noqa` comment, with a reason if one is given, on each line that has a finding.",
)
@_output(
    "--output-format",
    type=click.Choice(list(RENDERERS)),
    metavar="FORMAT",
    help="full: with source lines; grouped: by file; concise: one line each; json, sarif, gitlab, junit, rdjson: for "
    "programs; github: annotations in GitHub Actions; markdown; html: a page. [default: full]",
)
@_output(
    "--output-file",
    "-o",
    multiple=True,
    callback=outputs,
    shell_complete=completed_by("files"),
    metavar="[FORMAT:]FILE",
    help="Write the report to a file instead of the standard output. With a format, such as sarif:out.sarif, write "
    "it in that format besides; may be given several times.",
)
@_output("--statistics", is_flag=True, help="Show after the findings how many each rule has.")
@_output("--timings", is_flag=True, help="Show at the end where the time went: by step, program, rule and file.")
@_output("--quiet", "-q", is_flag=True, help="Print findings and failures, and nothing else.")
@_output(
    "--watch",
    is_flag=True,
    help="Keep running until Ctrl-C, and report again when a change to the code changes the report. Needs watchfiles.",
)
@color("Output")
@_known(
    "--baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Leave out the findings that this file lists.",
)
@_known("--no-baseline", is_flag=True, help="Report known findings too, whatever the settings say.")
@_known(
    "--write-baseline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="List all findings in a new file; take out of an existing one what is not found any more.",
)
@_known("--extend-baseline", is_flag=True, help="With --write-baseline: add new findings to an existing file.")
@_known(
    "--changed-since",
    metavar="REF",
    shell_complete=completed_by("revisions"),
    help="Report only what has come with the changes since this branch or commit of git (since the commit where "
    "both part): findings with a place on a changed line, and findings anywhere that were not there before.",
)
@_known(
    "--min-certainty",
    type=click.Choice([certainty.value for certainty in Certainty]),
    metavar="CERTAINTY",
    help="Report only findings that are at least so: certain, likely or depends. [default: depends]",
)
@_known(
    "--only-given",
    is_flag=True,
    help="Leave out findings that lie in files which were not given, or whose fix would change such a file.",
)
@_exit(
    "--fail-on",
    default="warning",
    show_default=True,
    callback=threshold,
    metavar="LEVEL|CERTAINTY",
    help="What makes the exit code 1: error or warning, certain or likely, or one of each, such as warning,certain. "
    "A note never does.",
)
@_exit("--exit-zero", is_flag=True, help="Exit with 0 whatever is found; with 2 still where work was not done.")
@_files(
    "--stdin-filename",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The path of the source on the standard input, which the path - stands for. With --fix the fixed "
    "source goes to the standard output and the report to the standard error.",
)
@_files("--force-exclude", is_flag=True, help="Leave out excluded files even when they are named.")
@_files("--show-files", is_flag=True, help="List the files that would be checked, and stop.")
@config("Settings")
@isolated("Settings")
@_settings(
    "--torch-version",
    metavar="VERSION",
    help="The PyTorch that the code runs with: 2.5, or '>=2.4,<2.9'. [default: what the project depends on]",
)
@_settings(
    "--evidence",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="What `torchrepro-lint verify` measured on the machine at hand. Findings on operations quote it, and it "
    "changes how certain they are.",
)
@_settings(
    "--cache-dir",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where what was found is kept for the next run. [default: .torchrepro_cache in the project's folder]",
)
@_settings(
    "--jobs",
    "-j",
    default="auto",
    show_default=True,
    callback=jobs,
    metavar="NUMBER|auto",
    help="In how many processes files are checked; auto: one for a few files.",
)
@_settings("--no-cache", is_flag=True, help="Neither use nor keep what was found before.")
@_settings(
    "--show-settings",
    is_flag=True,
    help="Show the settings for the paths and where each comes from, and stop.",
)
def check(**options: Any) -> int:
    """Report what makes a training run differ from the next one.

    PATHS are files and folders, by default the current folder; - reads the standard input. They choose
    what is reported, not what is understood: imports are followed through the whole project.
    """
    from torchrepro_lint.cli.run import run

    asked = Options(**options)
    for contradiction in asked.contradictions():
        raise click.UsageError(contradiction)
    return run(asked)
