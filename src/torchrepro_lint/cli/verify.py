"""`torchrepro-lint verify`: runs the operations that findings are about, and says what each of them did."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchrepro_lint.cli import shared_options
from torchrepro_lint.cli.help import Command, Option

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.report.verification import Verification
    from torchrepro_lint.verify.session import Protocol, Session
    from torchrepro_lint.verify.tasks import Task

NOTHING_CONFIRMED, CONFIRMED, FAILED, INCONCLUSIVE, NO_DEVICE = 0, 1, 2, 3, 5
_THOROUGH = {"repeats": 300, "processes": 5, "stress": True}
_NO_TORCH = """PyTorch is not installed beside torchrepro-lint, and verifying runs it. \
Install torchrepro-lint where the training code runs, or get both: pip install "torchrepro-lint[verify]\""""

_SERIAL = {
    "CUDA_LAUNCH_BLOCKING": "every kernel is waited for",
    "CUDA_DEVICE_MAX_CONNECTIONS": "streams share one queue",
}

_EPILOG = """\
What a verdict means:
  CONFIRMED                  equal inputs and random state, different bits
  STILL_DIFFERS_IN_DET_MODE  so too under torch.use_deterministic_algorithms(True)
  RAISES_IN_DET_MODE         no run differed; under that flag it raises
  SWITCHES_IN_DET_MODE       no run differed; under that flag another kernel runs
  NOT_REPRODUCED             no run differed, for these inputs on this machine
  NOT_EXERCISED              its device or its package is not here
  UNSUPPORTED                it could not be run here

How sure it is that nothing differs is told as if runs were independent. Those
of one process hardly are: --thorough starts fresh ones.

Examples:
  torchrepro-lint verify train.py
  torchrepro-lint verify --all --evidence evidence.json
  torchrepro-lint verify --op index-put-accumulate --device cpu --thorough

Exit codes:
  0  no run differed
  1  some operation is CONFIRMED, or STILL_DIFFERS_IN_DET_MODE
  2  some of the work could not be done: a wrong option, a file that cannot be read
  3  no run differed, but something is NOT_EXERCISED or UNSUPPORTED, or was cut short
  5  --require-cuda, and no CUDA device
"""

_option = partial(click.option, cls=Option)
_what = partial(_option, section="What to run")
_how = partial(_option, section="How to run it")
_output = partial(_option, section="Output")


@click.command(
    "verify", cls=Command, epilog=_EPILOG, short_help="Run the operations that were flagged, and compare every byte."
)
@shared_options.paths()
@_what("--all", "every", is_flag=True, help="Every operation of the catalogue, instead of what PATHS contain.")
@_what("--op", "ids", multiple=True, metavar="ID", help="This operation of the catalogue. May be repeated.")
@_how(
    "--device",
    type=click.Choice(["cuda", "cpu"]),
    help="Only there; of several GPUs, on the first that is visible. [default: cuda where there is one, else cpu]",
)
@_how("--require-cuda", is_flag=True, help="Exit with 5 where there is no CUDA device.")
@_how(
    "--repeats",
    type=click.IntRange(2, 10_000),
    metavar="N",
    help="Runs of each operation on the same inputs. [default: 20, thorough: 300]",
)
@_how("--thorough", is_flag=True, help="300 runs in 5 fresh processes, while other work keeps the machine busy.")
@_how(
    "--timeout",
    type=click.FloatRange(1),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="How long one operation may take in one process.",
)
@_how("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N", help="Processes at a time.")
@_output("--evidence", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write what was measured.")
@_output(
    "--output-format",
    type=click.Choice(["full", "concise", "json", "github"]),
    metavar="FORMAT",
    default="full",
    show_default=True,
    help="full: findings with their source; concise: one line each; json: findings and evidence for programs; "
    "github: annotations in GitHub Actions.",
)
@shared_options.color("Output")
@shared_options.config("Settings")
@shared_options.isolated("Settings")
def verify(paths: tuple[Path, ...], **options: Any) -> int:
    """Run what was flagged, many times on the same inputs, and compare every byte.

    PATHS are files and folders, by default the current folder, whose findings on operations are to be settled.
    Their code is neither imported nor run: the operations are, on inputs made for them, in processes of their own.
    """
    _refuse_contradictions(paths, options)
    from importlib.util import find_spec

    from torchrepro_lint.cli.streams import Failure, complain

    tasks, result = _tasks(paths, options)
    if result is not None and not tasks and options["evidence"] is None:
        return _nothing_to_do(result)
    if find_spec("torch") is None:
        raise Failure(_NO_TORCH)
    session = _session(tasks, _protocol(options))
    for problem in _hindrances(session):
        complain(problem)
    verification = _joined(session, result)
    if options["evidence"] is not None:
        _write_evidence(options["evidence"], session)
    _show(verification, options)
    return _exit_code(verification)


def _refuse_contradictions(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    if sum((bool(paths), options["every"], bool(options["ids"]))) > 1:
        raise click.UsageError("give PATHS, --all or --op: one of them")
    if options["require_cuda"] and options["device"] == "cpu":
        raise click.UsageError("--require-cuda and --device cpu contradict each other")
    if options["isolated"] and options["config"]:
        raise click.UsageError("--isolated reads no configuration file, --config names one")


def _tasks(paths: tuple[Path, ...], options: dict[str, Any]) -> tuple[list[Task], Result | None]:
    """What is to be run, and the findings that ask for it."""
    from torchrepro_lint.verify.tasks import KINDS, all_tasks, distinct, tasks_of

    if options["ids"]:
        return [_named(name) for name in dict.fromkeys(options["ids"])], None
    if options["every"]:
        wanted = {options["device"]} if options["device"] else set(KINDS)
        return [task for task in all_tasks() if wanted.intersection(task.devices)], None
    result = _checked(paths or (Path(),), options)
    return distinct(task for task in tasks_of(result.findings) if task is not None), result


def _named(name: str) -> Task:
    from torchrepro_lint.verify.tasks import all_tasks

    tasks = {task.id: task for task in all_tasks()}
    if name in tasks:
        return tasks[name]
    from difflib import get_close_matches

    close = get_close_matches(name, tasks, n=1, cutoff=0.4)
    raise click.UsageError(f"--op: no operation {name!r}" + (f"; did you mean {close[0]}?" if close else ""))


def _checked(paths: tuple[Path, ...], options: dict[str, Any]) -> Result:
    from torchrepro_lint import cards
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.engine import Request, check
    from torchrepro_lint.settings import SettingsError, SettingsResolver

    try:
        resolver = SettingsResolver(cards.codes(), isolated=options["isolated"], config=options["config"])
        return check(Request(paths, resolver), None)
    except SettingsError as error:
        raise Failure(str(error)) from None


def _protocol(options: dict[str, Any]) -> Protocol:
    from torchrepro_lint.verify.session import Protocol

    effort: dict[str, Any] = _THOROUGH if options["thorough"] else {}
    if options["repeats"] is not None:
        effort = {**effort, "repeats": options["repeats"]}
    if options["device"] is not None:
        effort = {**effort, "devices": (options["device"],)}
    required = "cuda" if options["require_cuda"] else None
    return Protocol(**effort, required=required, timeout=options["timeout"], jobs=options["jobs"])


def _session(tasks: list[Task], protocol: Protocol) -> Session:
    from torchrepro_lint.cli.streams import Failure, Progress, complain, is_terminal
    from torchrepro_lint.verify.process import Died
    from torchrepro_lint.verify.session import Absent, run

    progress = Progress(patience=0, things="operations") if is_terminal(err=True) else None
    try:
        return run(tasks, protocol, progress or (lambda done, total: None))
    except Absent as absent:
        complain(f"--require-cuda: {absent}")
        raise click.exceptions.Exit(NO_DEVICE) from None
    except Died as death:
        raise Failure(f"no process that imports PyTorch could be started: {death}") from None
    finally:
        if progress is not None:
            progress.clear()


def _hindrances(session: Session) -> Iterator[str]:
    """Variables under which kernels wait for each other, so that less differs than might."""
    variables = session.environment["variables"]
    for name, effect in _SERIAL.items():
        if "cuda" in session.present and variables.get(name) == "1":
            yield f"{name}=1 is set: {effect}, which may hide differences"


def _joined(session: Session, result: Result | None) -> Verification:
    """Findings that ask for an operation, each with its row."""
    from dataclasses import replace

    from torchrepro_lint.report.verification import Verification
    from torchrepro_lint.verify.tasks import tasks_of

    if result is None:
        return Verification(session)
    row_of = {row.task.key: row for row in session.rows}
    pairs = [(f, row_of[task.key]) for f, task in zip(result.findings, tasks_of(result.findings), strict=True) if task]
    findings = replace(result, findings=tuple(finding for finding, _ in pairs))
    return Verification(session, findings, tuple(row for _, row in pairs))


def _nothing_to_do(result: Result) -> int:
    from torchrepro_lint.cli.streams import complain
    from torchrepro_lint.report.summary import counted

    _tell(result)
    if result.files or not result.missing:
        complain(f"nothing to verify: no finding on an operation in {counted(len(result.files), 'file')}")
    return FAILED if result.errors or not result.files else NOTHING_CONFIRMED


def _write_evidence(path: Path, session: Session) -> None:
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.verify.evidence import evidence, write

    try:
        write(path, evidence(session))
    except OSError as error:
        raise Failure(f"--evidence: cannot write {path}: {error.strerror}") from None


def _show(verification: Verification, options: dict[str, Any]) -> None:
    from torchrepro_lint.cli import streams
    from torchrepro_lint.report import Context
    from torchrepro_lint.report.verification import render

    if options["output_format"] in ("json", "github"):
        streams.as_utf8()
    context = Context(streams.wants_color(options["color"]), streams.width(), Path.cwd(), fixing=False)
    streams.write(render(verification, context, options["output_format"]))
    if verification.result is not None:
        _tell(verification.result)


def _tell(result: Result) -> None:
    from torchrepro_lint.cli.streams import complain

    for path in result.missing:
        complain(f"no such file or folder: {path}")
    for problem in result.problems:
        complain(problem)


def _exit_code(verification: Verification) -> int:
    rows = verification.session.rows
    if verification.result is not None and verification.result.errors:
        return FAILED
    if any(row.verdict.differs for row in rows):
        return CONFIRMED
    return NOTHING_CONFIRMED if all(row.conclusive for row in rows) else INCONCLUSIVE
