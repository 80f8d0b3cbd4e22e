"""A run's streams as one file, which a later run is compared with: a zip of the streams and what they hold for.

The file is written whole or not at all. Lines of code are kept as they were told, so that it can move between machines.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchrepro_lint.reading import in_megabytes
from torchrepro_lint.rerun.streams import FORMAT, StreamError, Streams

_ABOUT = "about.json"
MAX_BYTES = 4_000_000_000  # of a recorded run, unpacked


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
    """The run in a file, its streams unpacked into `folder`. Raises StreamError; the file may come from a stranger."""
    try:
        if not path.is_file():
            raise StreamError(f"{path} is no recorded run: not a regular file")
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > MAX_BYTES:
                raise StreamError(f"{path} is no recorded run: larger than {in_megabytes(MAX_BYTES)} when unpacked")
            about = json.loads(archive.read(_ABOUT))
            if about["format"] != FORMAT:
                raise StreamError(f"{path}: its format is {about['format']}, this version reads {FORMAT}")
            names = [m.filename for m in members if m.filename.endswith(".jsonl") and "/" not in m.filename]
            archive.extractall(folder, names)
        recorded = Recording(Streams(folder, Path(about["root"])), tuple(about["command"]), dict(about["environment"]))
        for name in recorded.streams.names():
            recorded.streams.head(name)
            deque(recorded.streams.events(name), maxlen=0)
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:  # RuntimeError: encrypted
        raise StreamError(f"{path} is no recorded run: {error}") from None
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise StreamError(f"{path} is no recorded run: {type(error).__name__} in it: {error}") from None
    return recorded
