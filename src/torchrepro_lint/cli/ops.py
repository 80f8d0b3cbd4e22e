"""`torchrepro-lint ops`: looks operations up in the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from torchrepro_lint.cli import shared_options
from torchrepro_lint.cli.shared_options import Command

if TYPE_CHECKING:
    from torchrepro_lint.evidence import Measured
    from torchrepro_lint.kernels.operations import Operation

DEVICES = ("cuda", "cpu", "mps", "xpu")

_EPILOG = """\
A NAME is an id of the table, any spelling, or the alert that PyTorch raises:
  torchrepro-lint ops
  torchrepro-lint ops scatter_add_
  torchrepro-lint ops F.interpolate --torch-version 2.5
  torchrepro-lint ops "cumsum_cuda_kernel does not have a deterministic ..."
  torchrepro-lint ops --device mps --output-format json
  torchrepro-lint ops --evidence h200.json --evidence l4.json --output-format markdown

Exit codes:
  0  shown
  2  no operation has that name, or a wrong option
"""


@click.command(
    "ops", cls=Command, epilog=_EPILOG, short_help="Look an operation up: where it varies, and what to use instead."
)
@click.argument("name", required=False, metavar="[NAME]", shell_complete=shared_options.completed_by("operations"))
@shared_options.option(
    "Options",
    "--torch-version",
    metavar="VERSION",
    help="Say what this PyTorch does: 2.5, or '>=2.4,<2.9'. [default: the newest known]",
)
@shared_options.option(
    "Options", "--device", type=click.Choice(DEVICES), help="Only what holds on this device. [default: all]"
)
@shared_options.option(
    "Options",
    "--evidence",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    metavar="FILE",
    help="Say also what this file has measured, as `torchrepro-lint verify` writes it. Several: a matrix of operations "
    "and environments.",
)
@shared_options.option(
    "Options",
    "--output-format",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="json: one object with everything that is known of these operations; markdown, html: the matrix of what was "
    "measured, as a page.",
)
@shared_options.color("Options")
def ops(
    name: str | None,
    torch_version: str | None,
    device: str | None,
    evidence: tuple[Path, ...],
    output_format: str,
    color: str,
) -> int:
    """Look operations up: which give different bits on every run, on which device, in which PyTorch, under which
    conditions, and what to use instead.

    Without NAME, a table of all of them; with NAME, everything about one.
    """
    from torchrepro_lint.cli import measurement_files, streams
    from torchrepro_lint.evidence import Evidence
    from torchrepro_lint.report.operation_facts import operation_json
    from torchrepro_lint.report.operation_page import render_page
    from torchrepro_lint.report.operation_table import render_table

    release = _release(torch_version)
    devices = (device,) if device else DEVICES
    operations = [op for op in _found(name) if set(op.everywhere) & set(devices)]
    if not operations:
        raise streams.Failure(f"{name!r} is not known to vary on {device}")
    known = Evidence([item for path in evidence for item in measurement_files.measured(path, "--evidence")])
    measured = {op.id: [item for item in known.of(op.id) if item.device in devices] for op in operations}
    colored, width = streams.wants_color(color), streams.width()
    if output_format in ("markdown", "html") or len(evidence) > 1:
        items = [item for item in known.all() if item.id in measured and item.device in devices]
        streams.write(_matrix(items, output_format))
    elif output_format == "json":
        from torchrepro_lint.report.rule_list import render_json

        streams.as_utf8()
        shown = [operation_json(op, devices, release, measured[op.id]) for op in operations]
        streams.write([render_json({"torch": ".".join(map(str, release)), "operations": shown})])
    elif name is None:
        told = {name: [item for item in items if item.is_own] for name, items in measured.items()}
        streams.write(render_table(operations, devices, release, told, color=colored, width=width))
    else:
        pages = [render_page(op, devices, release, measured[op.id], color=colored, width=width) for op in operations]
        streams.write(["\n\n".join(pages)])
    return 0


def _release(setting: str | None) -> tuple[int, ...]:
    """The release that `--torch-version` stands for, as far as behaviour depends on it."""
    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.project.versions import effective
    from torchrepro_lint.settings import SettingsError
    from torchrepro_lint.settings.validation import checked

    try:
        version = checked("torch", setting, "--torch-version", {}) if setting is not None else None
    except SettingsError as error:
        raise Failure(str(error)) from None
    return effective(version).release[:2]


def _matrix(measured: list[Measured], output_format: str) -> Iterator[str]:
    from torchrepro_lint.cli import streams
    from torchrepro_lint.report import matrix

    if output_format != "text":
        streams.as_utf8()
    render = {"markdown": matrix.markdown, "html": matrix.html}.get(output_format, matrix.text)
    return render(matrix.matrix(measured))


def _found(name: str | None) -> list[Operation]:
    """The operations of that name; all without one."""
    from torchrepro_lint.kernels.operations import every, find, nearest

    operations = find(name) if name is not None else every()
    if operations or name is None:
        return operations
    from torchrepro_lint.cli.streams import Failure

    close = nearest(name)
    near = f"; did you mean {', '.join(close[:-1])}{' or ' if close[1:] else ''}{close[-1]}?" if close else ""
    raise Failure(f"no operation {name!r}{near}")
