"""A run's streams as one file, which a later run is compared with: a zip of the streams and what they hold for.

The file is written whole or not at all. Lines of code are kept as they were told, so that it can move between machines.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchrepro_lint.rerun.streams import FORMAT, StreamError, Streams

_ABOUT = "about.json"


@dataclass(frozen=True)
class Recording:
    """The streams of a recorded run, its command, and the environment that it ran in."""

    streams: Streams
    command: tuple[str, ...]
    environment: Mapping[str, Any]


def write(path: Path, streams: Streams, command: tuple[str, ...], environment: Mapping[str, Any]) -> None:
    """Keep a run in a file. Raises OSError."""
    about = {"format": FORMAT, "root": str(streams.root), "command": list(command), "environment": dict(environment)}
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_ABOUT, json.dumps(about, indent=2))
            for name in streams.names():
                archive.write(streams.folder / f"{name}.jsonl", f"{name}.jsonl")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Path, folder: Path) -> Recording:
    """The run in a file, its streams unpacked into `folder`. Raises StreamError."""
    try:
        with zipfile.ZipFile(path) as archive:
            about = json.loads(archive.read(_ABOUT))
            names = [name for name in archive.namelist() if name.endswith(".jsonl") and "/" not in name]
            archive.extractall(folder, names)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise StreamError(f"{path} is no recorded run: {error}") from None
    if about.get("format") != FORMAT:
        raise StreamError(f"{path}: its format is {about.get('format')}, this version reads {FORMAT}")
    return Recording(Streams(folder, Path(about["root"])), tuple(about["command"]), about["environment"])
