"""One run of `check`: from options to a report and an exit code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint import cards
from torchrepro_lint.cli import streams
from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.streams import Failure, complain
from torchrepro_lint.engine import Request, Result, check
from torchrepro_lint.model import Level
from torchrepro_lint.report import Context, renderer
from torchrepro_lint.report.summary import after_fixing
from torchrepro_lint.settings import SettingsError, SettingsResolver
from torchrepro_lint.settings.validation import checked

if TYPE_CHECKING:
    from torchrepro_lint.cli.stdin import Stdin

CLEAN, FOUND, FAILED = 0, 1, 2
MAX_NAMED = 3  # links in a message
_FOR_PROGRAMS = ("json", "github")


def run(options: Options) -> int:
    """Do what was asked; the exit code."""
    try:
        if options.torch_version is not None:
            checked("torch", options.torch_version, "--torch-version", {})
        resolver = SettingsResolver(
            cards.codes(),
            isolated=options.isolated,
            config=options.config,
            overrides=options.overrides,
        )
        if options.show_settings:
            from torchrepro_lint.cli.show import show_settings

            return show_settings(options, resolver)
        if options.show_files:
            from torchrepro_lint.cli.show import show_files

            return show_files(options, resolver)
        return _checked(options, resolver)
    except SettingsError as error:
        raise Failure(str(error)) from None


def _checked(options: Options, resolver: SettingsResolver) -> int:
    stdin = _stdin(options)
    request = Request(
        paths=() if stdin else options.roots,
        resolver=resolver,
        torch_version=options.torch_version,
        force_exclude=options.force_exclude,
        stdin=(stdin.text, stdin.path) if stdin else None,
    )
    result = _result(options, request)
    if stdin and options.fixing:
        streams.write_bytes(stdin.encoded(result.fixed_text))
    if options.diff:
        _show_diff(options, result)
    elif not options.fix_only:
        _show_report(options, result)
    _tell(options, result)
    return _exit_code(options, result)


def _stdin(options: Options) -> Stdin | None:
    if not options.stdin:
        return None
    from torchrepro_lint.cli.stdin import read_stdin

    return read_stdin(options.stdin_filename)


def _result(options: Options, request: Request) -> Result:
    with _progress() as progress:
        if not (options.fixing or options.diff):
            return check(request, progress)
        from torchrepro_lint.repair import fix

        write = options.fixing and request.stdin is None
        return fix(request, unsafe=options.unsafe_fixes, write=write, progress=progress)


@contextmanager
def _progress() -> Iterator[streams.Progress | None]:
    progress = streams.Progress() if streams.is_terminal(err=True) else None
    try:
        yield progress
    finally:
        if progress is not None:
            progress.clear()


def _show_diff(options: Options, result: Result) -> None:
    from torchrepro_lint.report.diff import render_diff

    streams.write(render_diff(result, color=streams.wants_color(options.color)))


def _show_report(options: Options, result: Result) -> None:
    output_format = options.output_format or ("concise" if os.environ.get("PRE_COMMIT") == "1" else "full")
    if not result.files and output_format not in _FOR_PROGRAMS:
        return  # "No problems in 0 files" is no good news; what went wrong is told on the standard error
    err = options.stdin and options.fixing
    context = Context(
        color=_colored(options, err=err),
        width=streams.width(),
        cwd=_shown_from(output_format),
        fixing=options.fixing,
    )
    chunks = _chunks(options, result, output_format, context)
    if options.output_file is not None:
        _refuse_overwriting(options.output_file, result)
        streams.write_file(options.output_file, chunks)
        return
    if output_format in _FOR_PROGRAMS and not err:
        streams.as_utf8()
    streams.write(chunks, err=err)


def _refuse_overwriting(output: Path, result: Result) -> None:
    """`-o train.py` where `-o report.json train.py` was meant."""
    checked_files = (result.root / rel for rel in result.files)
    if output.exists() and any(path.exists() and path.samefile(output) for path in checked_files):
        raise Failure(f"--output-file: {output} is one of the files that were checked, and is left as it is")


def _chunks(options: Options, result: Result, output_format: str, context: Context) -> Iterator[str]:
    if not options.statistics:
        return renderer(output_format)(result, context)
    from torchrepro_lint.report.statistics import render_json, render_table

    return render_json(result) if output_format == "json" else render_table(result, context)


def _colored(options: Options, *, err: bool) -> bool:
    if options.output_file is not None:
        return options.color == "always"
    return streams.wants_color(options.color, err=err)


def _shown_from(output_format: str) -> Path:
    """GitHub reads paths from the top of the repository, wherever a step is run."""
    workspace = os.environ.get("GITHUB_WORKSPACE") if output_format == "github" else None
    return Path(workspace) if workspace else Path.cwd()


def _tell(options: Options, result: Result) -> None:
    """What is not a finding: what was done, and what could not be."""
    for path in result.missing:
        complain(f"no such file or folder: {path}")
    for problem in result.problems:
        complain(problem)
    if result.outside:
        first = [*map(str, result.outside[:MAX_NAMED]), *["..."] * (len(result.outside) > MAX_NAMED)]
        complain(f"not followed, since they lead out of the project: {', '.join(first)}")
    for reason in result.not_fixed:
        complain(reason)
    if options.diff and result.diffs:
        complain(f"would fix {after_fixing(result)}")
    if options.fix_only and not options.diff:
        complain(f"fixed {after_fixing(result)}")
    if not result.files and not result.missing:
        what = "everything is excluded" if options.force_exclude else f"no Python files in {_named(options)}"
        complain(f"nothing to check: {what}")


def _named(options: Options) -> str:
    return ", ".join(str(path) for path in options.roots)


def _exit_code(options: Options, result: Result) -> int:
    if result.errors or not (result.files or options.force_exclude):
        return FAILED
    if options.exit_zero:
        return CLEAN
    if options.diff and result.diffs:
        return FOUND
    if options.fix_only and not options.diff:
        return CLEAN
    least = Level(options.fail_on).rank
    return FOUND if any(finding.level.rank >= least for finding in result.findings) else CLEAN
