"""Hypothesis tries the same examples each time, so that a test fails for a change and not by chance.

`pytest --hypothesis-profile explore` looks for new ones.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", derandomize=True)
settings.register_profile("explore", max_examples=2000)
settings.load_profile("steady")
