"""`torchrepro-lint lsp`: a language server, which an editor starts and speaks with over the standard streams."""

from __future__ import annotations

import click

from torchrepro_lint.cli.shared_options import Command

_EPILOG = """\
An editor starts this command. For VS Code, Neovim and PyCharm:
https://torchrepro.github.io/torchrepro-lint/editors/

Exit codes:
  0  the editor has ended it
  2  the packages of the extra `lsp` are not installed
"""


@click.command("lsp", cls=Command, epilog=_EPILOG, short_help="Run as a language server, for an editor.")
def lsp() -> int:
    """Speak the Language Server Protocol on the standard input and output.

    The editor shows findings of the whole program while you type; the texts of open files stand in for those on disk.
    """
    import gc

    from torchrepro_lint.cli.streams import Failure

    gc.enable()  # a session lasts for days
    try:
        from torchrepro_lint.lsp.server import server
    except ModuleNotFoundError as error:
        raise Failure(f"the language server needs {error.name}: pip install 'torchrepro-lint[lsp]'") from None
    server.start_io()
    return 0
