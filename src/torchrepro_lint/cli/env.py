"""`torchrepro-lint env`: the software and hardware that results depend on, and what of it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from torchrepro_lint.cli import measurement_files, shared_options
from torchrepro_lint.cli.shared_options import Command

SAME, DRIFTED = 0, 1

_EPILOG = """\
Examples:
  torchrepro-lint env
  torchrepro-lint env --save environment.json
  torchrepro-lint env --compare environment.json

Exit codes:
  0  shown, saved, or nothing has changed
  1  --compare, and something has changed: listed with what matters most first
  2  a file cannot be read or written
"""


@click.command(
    "env", cls=Command, epilog=_EPILOG, short_help="Show, save or compare what results depend on besides the program."
)
@shared_options.option(
    "Options",
    "--save",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    help="Write it to a file, as JSON; - is the standard output.",
)
@shared_options.option(
    "Options",
    "--compare",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Say what differs from what was saved, here or as part of evidence.",
)
@shared_options.text_or_json("Options", "json: what --save writes; with --compare a list of what has changed.")
def env(save: Path | None, compare: Path | None, output_format: str) -> int:
    """Show what results depend on besides the program: PyTorch, CUDA, GPU, driver, switches, a few variables.

    Two machines that agree in all of it can be expected to give the same results for a deterministic program.
    """
    if save and compare:
        raise click.UsageError("--save and --compare: one at a time")
    from torchrepro_lint.cli.streams import as_utf8, complain, write
    from torchrepro_lint.report.environment import drift_json, drift_text, manifest_json, manifest_text
    from torchrepro_lint.verify.environment import drift, manifest

    before = _read(compare) if compare else None
    now = manifest()
    if save is not None:
        measurement_files.save(save, now, "--save")
        if save != measurement_files.STDOUT:
            complain(f"saved in {save}")
        return SAME
    if output_format == "json":
        as_utf8()
    if before is None:
        write([manifest_json(now) if output_format == "json" else manifest_text(now)])
        return SAME
    changes = list(drift(before, now))
    write([drift_json(changes) if output_format == "json" else drift_text(changes)])
    return DRIFTED if changes else SAME


def _read(path: Path) -> Mapping[str, Any]:
    """A saved manifest, or the one within evidence."""
    import json

    from torchrepro_lint.cli.streams import Failure
    from torchrepro_lint.evidence import MAX_BYTES
    from torchrepro_lint.reading import read_regular

    try:
        content = json.loads(read_regular(path, MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise Failure(f"--compare: cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise Failure(f"--compare: {path} is no JSON") from None
    found = content.get("environment", content) if isinstance(content, dict) else None
    if not isinstance(found, dict) or "python" not in found:
        raise Failure(f"--compare: {path} was not written by `env --save` or `verify --evidence`")
    return found
