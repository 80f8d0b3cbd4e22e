"""`torchrepro-lint verify`: runs the operations that findings are about, and says what each of them did."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchrepro_lint.cli import measurement_files, shared_options, verify_tasks
from torchrepro_lint.cli.shared_options import Command

if TYPE_CHECKING:
    from torchrepro_lint.engine import Result
    from torchrepro_lint.evidence import Measured
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
  torchrepro-lint verify --op index_add --arg dim=1 --shape 64,4096 --dtype bfloat16
  torchrepro-lint verify train.py --plan
  torchrepro-lint verify --module models.unet:build --inputs data.batches:one

Exit codes:
  0  no run differed
  1  some operation is CONFIRMED, or STILL_DIFFERS_IN_DET_MODE
  2  some of the work could not be done: a wrong option, a file that cannot be read
  3  no run differed, but something is NOT_EXERCISED or UNSUPPORTED, or was cut short
  5  --require-cuda, and no CUDA device
"""

_what = partial(shared_options.option, "What to run")
_how = partial(shared_options.option, "How to run it")
_output = partial(shared_options.option, "Output")


@click.command(
    "verify", cls=Command, epilog=_EPILOG, short_help="Run the operations that were flagged, and compare every byte."
)
@shared_options.paths()
@_what("--all", "every", is_flag=True, help="Every operation of the catalogue, instead of what PATHS contain.")
@_what(
    "--op",
    "ids",
    multiple=True,
    metavar="NAME",
    help="This operation, by its id or any spelling: index_add. May be repeated.",
)
@_what(
    "--arg",
    "arguments",
    multiple=True,
    type=verify_tasks.Assignment(),
    metavar="NAME=VALUE",
    help="An argument of the operation that --op names: dim=1. May be repeated.",
)
@_what(
    "--module",
    metavar="PACKAGE.MODULE:FUNCTION",
    help="The module that this function builds, forward and backward. Imports and runs your code, from here.",
)
@_what(
    "--inputs",
    metavar="PACKAGE.MODULE:FUNCTION",
    help="Makes what --module is called with: a tensor, a tuple of arguments, or a mapping of keywords.",
)
@_what("--plan", is_flag=True, help="Say what would be run, with its memory and time by estimate, and run nothing.")
@_how("--shape", type=verify_tasks.Shape(), metavar="N,N,...", help="The shape of the main input. [default: as probed]")
@_how("--dtype", type=click.Choice(verify_tasks.DTYPES), help="Of the inputs. [default: the call's, or as probed]")
@_how(
    "--rerun",
    type=verify_tasks.Rerun(),
    metavar="FILE",
    help="Shapes and dtypes as the program ran with them, from what rerun wrote as JSON.",
)
@_how("--memory-format", type=click.Choice(verify_tasks.MEMORY_FORMATS), help="Of inputs with channels.")
@_how(
    "--device",
    type=verify_tasks.Device(),
    metavar="DEVICE",
    help="Only there: cpu, cuda, or cuda:1. [default: cuda where there is one, else cpu]",
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
    help="How long one experiment may take in one process, compiled or not.",
)
@_how("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, metavar="N", help="Processes at a time.")
@_output(
    "--evidence",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write what was measured, as JSON; with - to the standard output, and the report to the standard error.",
)
@_output(
    "--against",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Say which verdicts and slowdowns differ from this evidence, recorded with another GPU, driver or release.",
)
@_output(
    "--reproducer",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write a script of its own for each operation that differed or raised.",
)
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
    With --module, and only then, your code is.
    """
    _refuse_contradictions(paths, options)
    from importlib.util import find_spec

    from torchrepro_lint.cli.streams import Failure, complain

    before = measurement_files.measured(options["against"], "--against") if options["against"] is not None else None
    tasks, result = verify_tasks.wanted(paths, options)
    if result is not None and not tasks and options["evidence"] is None:
        return _nothing_to_do(result)
    if find_spec("torch") is None:
        raise Failure(_NO_TORCH)
    if options["evidence"] is not None:
        measurement_files.refuse(options["evidence"], "--evidence")
    if options["reproducer"] is not None:
        measurement_files.make_folder(options["reproducer"], "--reproducer")
    if options["module"]:
        complain(f"imports and calls {options['module']} and {options['inputs']}, from {Path.cwd()}")
    if options["plan"]:
        return _plan(tasks, _protocol(options))
    session = _session(tasks, _protocol(options))
    for problem in _hindrances(session):
        complain(problem)
    verification = _joined(session, result, options)
    if options["evidence"] is not None:
        from torchrepro_lint.verify.evidence import evidence

        measurement_files.save(options["evidence"], evidence(session), "--evidence")
    _show(verification, options)
    if before is not None:
        _compare(before, session, options)
    if options["reproducer"] is not None:
        _write_reproducers(options["reproducer"], session)
    return _exit_code(verification)


def _refuse_contradictions(paths: tuple[Path, ...], options: dict[str, Any]) -> None:
    for problem in verify_tasks.contradictions(paths, options):
        raise click.UsageError(problem)
    if options["evidence"] == measurement_files.STDOUT and options["output_format"] == "json":
        raise click.UsageError("--evidence - and --output-format json both write JSON to the standard output")
    if options["isolated"] and options["config"]:
        raise click.UsageError("--isolated reads no configuration file, --config names one")


def _protocol(options: dict[str, Any]) -> Protocol:
    from torchrepro_lint.verify.session import Protocol

    effort: dict[str, Any] = _THOROUGH if options["thorough"] else {}
    if options["module"] and not options["thorough"]:
        effort = {"processes": 2}
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


def _plan(tasks: list[Task], protocol: Protocol) -> int:
    from torchrepro_lint.cli.streams import Failure, write
    from torchrepro_lint.report.plan import plan_text
    from torchrepro_lint.verify.plan import plan
    from torchrepro_lint.verify.process import Died

    try:
        write(plan_text(plan(tasks, protocol)))
    except Died as death:
        raise Failure(f"no process that imports PyTorch could be started: {death}") from None
    return NOTHING_CONFIRMED


def _compare(before: tuple[Measured, ...], session: Session, options: dict[str, Any]) -> None:
    """On the standard error where the report is for programs."""
    from torchrepro_lint.cli import streams
    from torchrepro_lint.evidence import measured_in
    from torchrepro_lint.report.comparison import comparison
    from torchrepro_lint.verify.evidence import evidence

    now = measured_in(evidence(session), Path("this run"))
    aside = options["output_format"] in ("json", "github") or options["evidence"] == measurement_files.STDOUT
    streams.write(comparison(before, now), err=aside)


def _write_reproducers(folder: Path, session: Session) -> None:
    from torchrepro_lint.cli.streams import Failure, complain
    from torchrepro_lint.report.verdict_words import machine
    from torchrepro_lint.verify.process import Died
    from torchrepro_lint.verify.reproducers import write_reproducers

    try:
        for found in write_reproducers(folder, session, lambda device: machine(session.environment, device)):
            told = f"wrote {found.path}" if found.path else f"no script shows {found.row.task.id}: {found.reason}"
            complain(told)
    except (OSError, Died) as error:
        raise Failure(f"--reproducer: {error}") from None


def _hindrances(session: Session) -> Iterator[str]:
    """Variables under which kernels wait for each other, so that less differs than might."""
    variables = session.environment["variables"]
    for name, effect in _SERIAL.items():
        if "cuda" in session.present and variables.get(name) == "1":
            yield f"{name}=1 is set: {effect}, which may hide differences"


def _joined(session: Session, result: Result | None, options: dict[str, Any]) -> Verification:
    """Findings that ask for an operation, each with its row."""
    from torchrepro_lint.report.verification import Verification

    if result is None:
        return Verification(session)
    row_of = {row.task.key: row for row in session.rows}
    tasks = verify_tasks.tasks_of(result, options)
    pairs = [(f, row_of[task.key]) for f, task in zip(result.findings, tasks, strict=True) if task]
    findings = result._replace(findings=tuple(finding for finding, _ in pairs))
    return Verification(session, findings, tuple(row for _, row in pairs))


def _nothing_to_do(result: Result) -> int:
    from torchrepro_lint.cli.streams import complain
    from torchrepro_lint.report.summary import counted

    _tell(result)
    if result.files or not result.missing:
        complain(f"nothing to verify: no finding on an operation in {counted(len(result.files), 'file')}")
    return FAILED if result.errors or not result.files else NOTHING_CONFIRMED


def _show(verification: Verification, options: dict[str, Any]) -> None:
    from torchrepro_lint.cli import streams
    from torchrepro_lint.report import Context
    from torchrepro_lint.report.verification import render

    if options["output_format"] in ("json", "github"):
        streams.as_utf8()
    aside = options["evidence"] == measurement_files.STDOUT
    context = Context(streams.wants_color(options["color"], err=aside), streams.width(), Path.cwd(), fixing=False)
    streams.write(render(verification, context, options["output_format"]), err=aside)
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
