"""`torchrepro-lint rerun`: runs the program twice, and says where the two runs part and what made them part."""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from torchrepro_lint.cli import shared_options
from torchrepro_lint.cli.shared_options import Command

if TYPE_CHECKING:
    from torchrepro_lint.rerun.results import Outcome, Proof
    from torchrepro_lint.rerun.session import Plan, Session

IDENTICAL, PARTED, USAGE, INCONCLUSIVE, FAILED, NO_DEVICE = range(6)
_PINS = ("rng", "hash", "listing", "time", "entropy")

_EPILOG = """\
PROGRAM is a Python file, a notebook or a command. Options of rerun come
before it, what follows it is the program's; a -- may stand between them.

What makes runs part:
  UNSEEDED      a generator starts differently: at its first draw, or its seed
  EXTERNAL      a value from outside torch: hashes, listings, the clock, entropy
  OPERATION     an operation that gives other bits for the same bits
  CONTROL_FLOW  another operation, or another line
  DATA_ORDER    the same samples in another order
  RANK          a collective, of equal inputs on this rank
  CONCURRENT    memory that several processes write
  COMPILED      a kernel inside torch.compile

In the program's environment PYTHONPATH gets a folder in front, and
TORCHREPRO_RERUN is set; a pinned run also gets PYTHONHASHSEED=0, one under
deterministic algorithms CUBLAS_WORKSPACE_CONFIG. Its standard input is empty.

Examples:
  torchrepro-lint rerun train.py -- --epochs 1
  torchrepro-lint rerun --steps 20 -- torchrun --nproc-per-node 2 train.py
  torchrepro-lint rerun -m pkg.train
  torchrepro-lint rerun train.ipynb
  torchrepro-lint rerun --record run.trr train.py
  torchrepro-lint rerun --against run.trr train.py

Exit codes:
  0  identical
  1  parted
  2  a wrong option
  3  inconclusive: nothing to compare, or the difference hides from tracing
  4  the program failed
  5  --require-cuda, and no CUDA device
"""

_what = partial(shared_options.option, "What to run")
_how = partial(shared_options.option, "How to run it")
_output = partial(shared_options.option, "Output")


@click.command(
    "rerun",
    cls=Command,
    epilog=_EPILOG,
    short_help="Run a program twice, and say where the two runs part.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="PROGRAM [ARGUMENTS]...")
@_what("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does, instead of a file.")
@_what("--prove", is_flag=True, help="Run a copy with the safe fixes too, which then decides the exit code.")
@_how("--steps", type=click.IntRange(1), metavar="N", help="Stop each process after so many optimizer steps.")
@_how(
    "--pairs",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    metavar="N",
    help="Compare so many runs with the first, until one differs.",
)
@_how("--pin", "pins", multiple=True, metavar="WHAT", help=f"Fix from the start: {', '.join(_PINS)}. By commas.")
@_how("--shuffle-listing", is_flag=True, help="List folders in another order in each run, as other machines do.")
@_how("--copy", is_flag=True, help="Give each run a fresh copy of the current folder, for programs that resume.")
@_how("--every", type=click.IntRange(1), metavar="K", help="Compare gradients and parameters at every K-th step.")
@_how("--timeout", type=click.FloatRange(0.1), metavar="SECONDS", help="How long one run may take.")
@_how("--require-cuda", is_flag=True, help="Exit with 5 where there is no CUDA device.")
@_output("--record", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Run once, keep its stream.")
@_output(
    "--against",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Compare with a recorded run instead of a second one.",
)
@_output("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write the report as a page.")
@_output(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Keep streams and output there; of several nodes, a folder that all of them see.",
)
@shared_options.text_or_json("Output", "text: for a person; json: for programs.")
@shared_options.color("Output")
@shared_options.config("Settings")
@shared_options.isolated("Settings")
def rerun(words: tuple[str, ...], **options: Any) -> int:
    """Run PROGRAM twice as it is, compare all that it computes, and find out what makes the runs part.

    The user's program is run, several times. It writes its files as always: see --copy.
    """
    command = _command(words, options["module"])
    _refuse_contradictions(options)
    from importlib.util import find_spec

    from torchrepro_lint.cli.streams import Failure, complain

    if find_spec("torch") is None:
        raise Failure("PyTorch is not installed beside torchrepro-lint: install both where the program runs")
    if options["require_cuda"] and not _has_cuda():
        complain("--require-cuda: no CUDA device here")
        return NO_DEVICE
    with _folder(options["folder"]) as folder, _ended_by_signals():
        plan = _plan(command, folder, options)
        _show_command(plan)
        return _done(plan, options)


def _command(words: tuple[str, ...], module: str | None) -> tuple[str, ...]:
    from torchrepro_lint.rerun.launching import command_of

    if module is not None:
        return (sys.executable, "-m", module, *(words[1:] if words[:1] == ("--",) else words))
    rest = list(words[1:]) if words[:1] == ("--",) else list(words)
    if not rest:
        raise click.UsageError("which program? Give a Python file or a notebook, or a command behind --")
    is_file = rest[0].endswith((".py", ".ipynb"))
    if rest[1:2] == ["--"] and is_file:
        del rest[1]
    if is_file and not Path(rest[0]).is_file():
        raise click.UsageError(f"no such file: {rest[0]}")
    if not is_file and shutil.which(rest[0]) is None:
        raise click.UsageError(f"no such program: {rest[0]}")
    try:
        return tuple(command_of(rest))
    except FileNotFoundError as error:
        raise click.UsageError(str(error)) from None


def _refuse_contradictions(options: dict[str, Any]) -> None:
    alone = (("record", name) for name in ("against", "prove", "html"))
    for one, other in (*alone, ("against", "prove"), ("isolated", "config")):
        if options[one] and options[other]:
            raise click.UsageError(f"--{one} and --{other} do not go together")
    unknown = [pin for pin in _pins(options) if pin not in _PINS]
    if unknown:
        raise click.UsageError(f"--pin: no {unknown[0]!r}; there are {', '.join(_PINS)}")


def _pins(options: dict[str, Any]) -> list[str]:
    return [pin.strip() for text in options["pins"] for pin in text.split(",") if pin.strip()]


def _has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """Where streams go: a folder of the user's, or one that is gone afterwards."""
    if given is None:
        with tempfile.TemporaryDirectory(prefix="torchrepro-rerun-", ignore_cleanup_errors=True) as name:
            yield Path(name).resolve()
        return
    given.mkdir(parents=True, exist_ok=True)
    if any(given.glob("run-*")):
        raise click.UsageError(f"--folder: {given} holds the runs of another time")
    yield given.resolve()  # as processes name the folder that they are started in


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends us as Ctrl-C does, so that no process of the program is left behind."""

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _plan(command: tuple[str, ...], folder: Path, options: dict[str, Any]) -> Plan:
    from torchrepro_lint.rerun.session import PINS, Plan

    return Plan(
        command=command,
        root=Path.cwd(),
        folder=folder,
        pins=tuple(dict.fromkeys(name for pin in _pins(options) for name in PINS[pin])),
        steps=options["steps"],
        every=options["every"],
        timeout=options["timeout"],
        copy=options["copy"],
        shuffle_listing=options["shuffle_listing"],
        pairs=options["pairs"],
    )


def _show_command(plan: Plan) -> None:
    import shlex

    from torchrepro_lint.cli.streams import complain

    complain(f"running: {shlex.join(plan.command)}")


def _done(plan: Plan, options: dict[str, Any]) -> int:
    if options["record"] is not None:
        return _recorded(plan, options["record"])
    plan, drifted = _with_recording(plan, options["against"])
    outcome, session = _outcome(plan)
    outcome = replace(outcome, notes=(*outcome.notes, *drifted))
    outcome = _joined(outcome, session, options)
    _tell(outcome, options)
    proof = _proof(plan, session, options) if options["prove"] else None
    _write(outcome, proof, options)
    return _exit_code(outcome if proof is None else proof.outcome)


def _recorded(plan: Plan, path: Path) -> int:
    """Run once and keep the streams."""
    from torchrepro_lint.cli.streams import Failure, complain
    from torchrepro_lint.rerun import recording
    from torchrepro_lint.rerun.session import ProgramFailed, Session, nothing_seen
    from torchrepro_lint.verify.environment import manifest

    session = Session(plan, _teller())
    try:
        session.run("plain", "to be recorded", pins=plan.pins)
    except ProgramFailed as failed:
        complain(str(failed))
        return FAILED
    streams = session.streams[0]
    reason = nothing_seen(streams)
    if reason is not None:
        complain(reason)
        return INCONCLUSIVE
    try:
        recording.write(path, streams, plan.command, manifest())
    except OSError as error:
        raise Failure(f"--record: cannot write {path}: {error.strerror}") from None
    complain(f"recorded in {path}")
    return IDENTICAL


def _with_recording(plan: Plan, path: Path | None) -> tuple[Plan, tuple[str, ...]]:
    """The plan with a recorded run to compare with, and what is not the same any more since it was recorded."""
    if path is None:
        return plan, ()
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.rerun import recording
    from torchrepro_lint.rerun.streams import StreamError
    from torchrepro_lint.verify.environment import drift, manifest

    try:
        recorded = recording.read(path, plan.folder / "recorded")
    except StreamError as error:
        raise Failure(f"--against: {error}") from None
    changed = [f"since the recording {n} went from {a} to {b}" for n, a, b in drift(recorded.environment, manifest())]
    return replace(plan, against=recorded.streams), tuple(changed)


def _proof(plan: Plan, session: Session, options: dict[str, Any]) -> Proof:
    """Rerun a copy with the safe fixes."""
    from torchrepro_lint import cards
    from torchrepro_lint.rerun.joining import files_that_ran, paths
    from torchrepro_lint.rerun.proving import fixed_copy
    from torchrepro_lint.rerun.results import Proof
    from torchrepro_lint.settings import SettingsResolver

    resolver = SettingsResolver(cards.codes(), isolated=options["isolated"], config=options["config"])
    files = paths(files_that_ran(session.streams, plan.root))
    fixed = fixed_copy(plan.root, files, plan.folder / "fixed", resolver)
    outcome, again = _outcome(replace(plan, root=fixed.root, folder=plan.folder / "after"))
    return Proof(_joined(outcome, again, options), fixed.fixed, fixed.root)


def _outcome(plan: Plan) -> tuple[Outcome, Session]:
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.rerun.session import Session, rerun
    from torchrepro_lint.rerun.streams import StreamError

    session = Session(plan, _teller())
    try:
        return rerun(session), session
    except StreamError as error:
        raise Failure(str(error)) from None
    except FileNotFoundError as error:
        raise Failure(f"cannot run {plan.command[0]}: {error.strerror}: {error.filename}") from None


def _teller() -> Callable[[str], None]:
    from torchrepro_lint.cli.streams import complain, is_terminal

    return complain if is_terminal(err=True) else lambda line: None


def _joined(outcome: Outcome, session: Session, options: dict[str, Any]) -> Outcome:
    """The outcome beside the findings in the files that ran, and the environment that it holds for."""
    from torchrepro_lint.cli.run import findings_in
    from torchrepro_lint.rerun.joining import files_that_ran, joined, paths
    from torchrepro_lint.verify.environment import manifest

    outcome = replace(outcome, environment=manifest())
    lines = files_that_ran(session.streams, session.plan.root)
    files = tuple(path for path in paths(lines) if path.is_file() and path.is_relative_to(session.plan.root))
    if not files:
        return outcome
    return joined(outcome, findings_in(files, options["isolated"], options["config"]), lines, session.plan.root)


def _tell(outcome: Outcome, options: dict[str, Any]) -> None:
    """Show a person at once what is known, before more is run."""
    from torchrepro_lint.cli import streams
    from torchrepro_lint.report import rerun_text

    if options["output_format"] == "text":
        streams.write(rerun_text.render(outcome, Path.cwd(), streams.wants_color(options["color"])))


def _write(outcome: Outcome, proof: Proof | None, options: dict[str, Any]) -> None:
    """The page, and what is shown when all has been run."""
    from torchrepro_lint.cli import streams
    from torchrepro_lint.report import rerun_json, rerun_text

    if options["html"] is not None:
        from torchrepro_lint.report import rerun_html

        streams.write_file(options["html"], rerun_html.render(outcome, Path.cwd(), proof), "--html")
    if options["output_format"] == "json":
        streams.as_utf8()
        streams.write(rerun_json.render(outcome, proof))
    elif proof is not None:
        streams.write(rerun_text.comparison(outcome, proof, streams.wants_color(options["color"])))


def _exit_code(outcome: Outcome) -> int:
    from torchrepro_lint.rerun.results import Verdict

    return {
        Verdict.IDENTICAL: IDENTICAL,
        Verdict.PARTED: PARTED,
        Verdict.PROGRAM_FAILED: FAILED,
    }.get(outcome.verdict, INCONCLUSIVE)
