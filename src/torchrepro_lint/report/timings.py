"""Where the time of a run went, as a table for a person."""

from __future__ import annotations

from collections.abc import Iterator

from torchrepro_lint.report.escaping import visible
from torchrepro_lint.timings import Timings

_MOST = 10


def rows(timings: Timings) -> Iterator[str]:
    """Lines with seconds: of steps, the slowest programs, rules and files; and how much an earlier run has found."""
    for kind, title in (("step", "steps"), ("program", "programs"), ("rule", "rules"), ("file", "files")):
        longest = timings.longest(kind, _MOST)  # type: ignore[arg-type]
        if longest:
            yield f"seconds, {title}:\n"
            yield from (f"{seconds:9.3f}  {visible(name)}\n" for name, seconds in longest)
    files = timings.known + timings.checked
    share = f" ({100 * timings.known // files} %)" if files else ""
    yield f"known from an earlier run: {timings.known} of {files} files{share}\n"
