"""Where the reports of one run go: the standard output, files, and the summary page of a GitHub job."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from torchrepro_lint.cli import streams
from torchrepro_lint.cli.options import Options
from torchrepro_lint.engine import Result
from torchrepro_lint.report import FOR_PEOPLE, Context, renderer

_TOPS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")  # where GitHub and GitLab check a repository out


def show(options: Options, result: Result) -> None:
    """Write every report that was asked for."""
    chosen = options.output_format or ("concise" if os.environ.get("PRE_COMMIT") == "1" else "full")
    to_file = next((output.path for output in options.output_file if output.format is None), None)
    for output in options.output_file:
        if output.format is not None:
            _write_file(options, result, output.format, output.path)
    if to_file is not None:
        _write_file(options, result, chosen, to_file)
    elif result.files or chosen not in FOR_PEOPLE:  # "No problems in 0 files" is no good news
        _print(options, result, chosen)
    if options.statistics and chosen not in FOR_PEOPLE:
        from torchrepro_lint.report.statistics import by_rule, others

        streams.write((*by_rule(result), *others(result)), err=True)
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if page and chosen == "github" and result.findings:
        _append_summary(options, result, Path(page))


def show_diff(options: Options, result: Result) -> None:
    """Write the changes that fixes would make."""
    from torchrepro_lint.report.diff import render_diff

    plain = [output.path for output in options.output_file]
    color = options.color == "always" if plain else streams.wants_color(options.color)
    for path in plain:
        _refuse_overwriting(path, result)
        streams.write_file(path, render_diff(result, color=color))
    if not plain:
        streams.write(render_diff(result, color=color))


def _refuse_overwriting(output: Path, result: Result) -> None:
    """`-o train.py` where `-o report.json train.py` was meant."""
    checked_files = (result.root / rel for rel in result.files)
    if output.exists() and any(path.exists() and path.samefile(output) for path in checked_files):
        raise streams.Failure(f"--output-file: {output} is one of the files that were checked, and is left as it is")


def _write_file(options: Options, result: Result, output_format: str, path: Path) -> None:
    _refuse_overwriting(path, result)
    context = _context(options, output_format, color=options.color == "always")
    streams.write_file(path, renderer(output_format)(result, context))


def _print(options: Options, result: Result, output_format: str) -> None:
    err = options.stdin and options.fixing
    context = _context(options, output_format, color=streams.wants_color(options.color, err=err))
    if output_format not in FOR_PEOPLE and not err:
        streams.as_utf8()
    streams.write(renderer(output_format)(result, context), err=err)


def _append_summary(options: Options, result: Result, path: Path) -> None:
    """GitHub shows ten warnings of a step; its summary page has them all."""
    chunks = renderer("markdown")(result, _context(options, "github", color=False))
    streams.write_file(path, chunks, "GITHUB_STEP_SUMMARY", "a")


def _context(options: Options, output_format: str, *, color: bool) -> Context:
    return Context(
        color=color,
        width=streams.width(),
        cwd=Path.cwd() if output_format in (*FOR_PEOPLE, "json") else _top(),
        fixing=options.fixing,
        quiet=options.quiet,
        statistics=options.statistics,
    )


def _top() -> Path:
    """The folder from which other programs read paths: the top of what was checked out, wherever a step is run."""
    told: Iterator[str] = (os.environ[name] for name in _TOPS if os.environ.get(name))
    return Path(next(told, ".")).absolute()
