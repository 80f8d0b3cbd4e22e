"""Where the tool and its rules are described on the web."""

from __future__ import annotations

from functools import cache

from torchrepro_lint import __version__, cards

HOME = "https://github.com/torchrepro/torchrepro-lint"


@cache
def rule_url(code: str) -> str:
    """The page of a rule, of this version."""
    return f"{HOME}/blob/v{__version__}/rules/{cards.page(code)}"
