"""One run of `check`: from options to a report and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from torchrepro_lint import cards
from torchrepro_lint.cli import COMMANDS, streams
from torchrepro_lint.cli.known import conclude, narrowed
from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.outputs import show, show_diff
from torchrepro_lint.cli.streams import FAILED, Failure, complain, exit_code
from torchrepro_lint.engine import Request, Result, check, uncollected
from torchrepro_lint.projects import apart, together
from torchrepro_lint.report import WITH_EDITS
from torchrepro_lint.report.escaping import visible
from torchrepro_lint.report.summary import after_fixing, counted
from torchrepro_lint.settings import SettingsError, SettingsResolver
from torchrepro_lint.settings.validation import checked

if TYPE_CHECKING:
    from torchrepro_lint.cli.stdin import Stdin
    from torchrepro_lint.timings import Timings

CLEAN, FOUND = 0, 1
MAX_NAMED = 3  # links in a message


def check_paths(paths: Sequence[str]) -> int:
    """Check paths without any option, as is done most: there is nothing to be parsed. The exit code."""
    return exit_code(partial(run, Options(tuple(map(Path, paths)))))


def run(options: Options) -> int:
    """Do what was asked; the exit code."""
    try:
        if options.torch_version is not None:
            checked("torch", options.torch_version, "--torch-version", {})
        resolver = _resolver(options)
        if options.show_settings:
            from torchrepro_lint.cli.show import show_settings

            return show_settings(options, resolver)
        if options.show_files:
            from torchrepro_lint.cli.show import show_files

            return show_files(options, resolver)
        if options.watch:
            from torchrepro_lint.cli.watch import watch

            return _exit_code(options, watch(options, partial(_watched, options), _tell))
        with uncollected():  # the report, too: what was found is held to its end
            return _checked(options, resolver)
    except SettingsError as error:
        raise Failure(str(error)) from None


def _resolver(options: Options) -> SettingsResolver:
    return SettingsResolver(
        cards.codes(), isolated=options.isolated, config=options.config, overrides=options.overrides
    )


def findings_in(paths: tuple[Path, ...], isolated: bool, config: Path | None) -> Result:
    """What `check` finds, for a command that goes on from there."""
    request = Request(paths, SettingsResolver(cards.codes(), isolated=isolated, config=config))
    try:
        return together(check(each) for each in apart(request))
    except SettingsError as error:
        raise Failure(str(error)) from None


def _request(options: Options, resolver: SettingsResolver, stdin: Stdin | None) -> Request:
    formats = {options.output_format, *(output.format for output in options.output_file)}
    return Request(
        paths=() if stdin else options.roots,
        resolver=resolver,
        torch_version=options.torch_version,
        force_exclude=options.force_exclude,
        stdin=(stdin.text, stdin.path) if stdin else None,
        keep_suppressed="sarif" in formats,
        tell_programs="html" in formats,
        with_edits=options.statistics or not WITH_EDITS.isdisjoint(formats),  # what is asked for edits is counted, too
        jobs=1 if stdin else options.jobs,
        timings=_timings(options),
        cache=None if options.no_cache or stdin else options.cache_dir or True,
    )


def _timings(options: Options) -> Timings | None:
    if not options.timings:
        return None
    from torchrepro_lint.timings import Timings

    return Timings()


def _watched(options: Options) -> Request:
    requests = apart(_request(options, _resolver(options), None))
    if len(requests) > 1:
        raise Failure(f"--watch: {_named(options)} belong to {len(requests)} projects; name one")
    return narrowed(options, requests[0])[0]


def _checked(options: Options, resolver: SettingsResolver) -> int:
    stdin = _stdin(options)
    request = _request(options, resolver, stdin)
    requests = apart(request)
    if options.write_baseline is not None and len(requests) > 1:
        raise Failure(f"--write-baseline: {_named(options)} belong to {len(requests)} projects; each has its own")
    result = together(_concluded(options, each) for each in requests)
    if stdin and options.fixing:
        streams.write_bytes(stdin.encoded(result.fixed_text))
    if options.diff:
        show_diff(options, result)
    elif not options.fix_only:
        show(options, result)
    _tell(options, result)
    if request.timings is not None:
        from torchrepro_lint.report.timings import rows

        streams.write(rows(request.timings), err=True)
    return _exit_code(options, result)


def _concluded(options: Options, request: Request) -> Result:
    """The result in one project, with what is to be said of its baseline."""
    request, known = narrowed(options, request)
    result = _result(options, request)
    if known is not None:
        conclude(options, known)
    return result


def _stdin(options: Options) -> Stdin | None:
    if not options.stdin:
        return None
    from torchrepro_lint.cli.stdin import read_stdin

    return read_stdin(options.stdin_filename)


def _result(options: Options, request: Request) -> Result:
    with _progress() as progress:
        if not (options.fixing or options.diff or options.add_noqa is not None):
            return check(request, progress)
        from torchrepro_lint.repair import fix
        from torchrepro_lint.silencing import silence

        write = options.fixing and request.stdin is None
        if options.add_noqa is not None:
            from torchrepro_lint.fixing import WriteError
            from torchrepro_lint.source import SourceError

            try:
                return silence(
                    request._replace(cache=None), options.add_noqa, write=not options.diff, progress=progress
                )
            except (WriteError, SourceError) as error:
                raise Failure(f"no file was changed: {error}") from None
        return fix(request, unsafe=options.unsafe_fixes, write=write, progress=progress)


@contextmanager
def _progress() -> Iterator[streams.Progress | None]:
    progress = streams.Progress() if streams.is_terminal(err=True) else None
    try:
        yield progress
    finally:
        if progress is not None:
            progress.clear()


def _tell(options: Options, result: Result) -> None:
    """Messages that are not findings: what was done, and what could not be."""
    for path in result.missing:
        complain(f"no such file or folder: {path}{_meant(path)}")
    for problem in result.problems:
        complain(problem)
    if result.outside:
        first = [*map(str, result.outside[:MAX_NAMED]), *["..."] * (len(result.outside) > MAX_NAMED)]
        complain(f"not followed, since they lead out of the project: {', '.join(first)}")
    for reason in result.not_fixed:
        complain(reason)
    if not options.quiet:
        _tell_of_fixes(options, result)
    if not result.files and not result.missing:
        what = "everything is excluded" if options.force_exclude else f"no Python files in {_named(options)}"
        complain(f"nothing to check: {what}")


def _meant(path: Path) -> str:
    """The command that a word is which is no path."""
    from difflib import get_close_matches

    close = get_close_matches(path.name, COMMANDS, n=1, cutoff=0.7) if path.parent == Path.cwd() else []
    return f"; did you mean the command `{close[0]}`?" if close else ""


def _tell_of_fixes(options: Options, result: Result) -> None:
    if (options.fixing or options.add_noqa is not None) and not options.diff and result.diffs and not options.stdin:
        from torchrepro_lint.report.places import shown_path

        names = [shown_path(result.root, rel, Path.cwd()) for rel, _ in result.diffs]
        complain(f"changed {counted(len(names), 'file')}: {visible(', '.join(names))}")
    if options.fix_only and not options.diff:
        complain(f"fixed {after_fixing(result)}")
    if not options.diff or options.add_noqa is not None:
        return
    if result.diffs:
        complain(f"would fix {after_fixing(result)}")
    elif result.unsafe_fixable:
        what = counted(result.unsafe_fixable, "problem")
        complain(f"no safe fix; {what} would be mended by unsafe ones, which --diff --unsafe-fixes shows")


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
    return FOUND if any(map(options.fail_on.reached, result.findings)) else CLEAN
