"""`check --watch`: the report of a run, again whenever a change of a file makes it another. Needs the extra `watch`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from torchrepro_lint.cli import streams
from torchrepro_lint.cli.options import Options
from torchrepro_lint.cli.outputs import show
from torchrepro_lint.cli.streams import Failure, complain
from torchrepro_lint.engine import Request, Result
from torchrepro_lint.live import Live
from torchrepro_lint.settings import SettingsError

_CLEAR = "\x1b[2J\x1b[3J\x1b[H"


def watch(options: Options, request: Callable[[], Request], tell: Callable[[Options, Result], None]) -> Result:
    """Report until Ctrl-C; what was found last. `tell` says what could not be done."""
    try:
        import watchfiles
    except ModuleNotFoundError:
        raise Failure("--watch needs watchfiles: pip install 'torchrepro-lint[watch]'") from None
    live = Live(request)
    result = _settled(live)
    _report(options, result, tell)
    with suppress(KeyboardInterrupt):
        # An empty set comes each second: what changed before the watch began is seen by looking.
        for changes in watchfiles.watch(live.run.root, step=100, rust_timeout=1000, yield_on_timeout=True):
            try:
                live.changed_on_disk(Path(name) for _, name in changes)
            except SettingsError as error:
                complain(str(error))
                continue
            before, result = result, _settled(live)
            if (result.findings, result.problems) != (before.findings, before.problems):
                _report(options, result, tell)
    return result


def _settled(live: Live) -> Result:
    while live.stale:
        live.check_next()
    return live.result()


def _report(options: Options, result: Result, tell: Callable[[Options, Result], None]) -> None:
    if streams.is_terminal():
        streams.write([_CLEAR])
    show(options, result)
    sys.stdout.flush()  # the next report may be hours away
    tell(options, result)
    complain("watching for changes; Ctrl-C ends it")
