"""What a command ends with: the documented exit codes, also where it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torchrepro_lint.cli import streams

FAILED = 2
UNHEARD = 1  # as other programs end whose output nobody reads any more
INTERRUPTED = 130  # as a shell reports a program that Ctrl-C ended
T = TypeVar("T")


def exit_code(work: Callable[[], T]) -> T | int:
    """What `work` gives; where it cannot be done, say why."""
    try:
        return work()
    except streams.Failure as failure:
        streams.complain(str(failure))
    except BrokenPipeError:
        return UNHEARD
    except OSError as error:
        if error.filename is not None:
            raise
        streams.give_up(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return FAILED
