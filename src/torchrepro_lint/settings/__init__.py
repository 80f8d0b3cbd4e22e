"""What the user configured: the closest configuration file, then the command line.

Knows selectors and values, not what a rule means; finds no source files and prints nothing.
"""

from __future__ import annotations

from torchrepro_lint.settings.resolver import SettingsResolver
from torchrepro_lint.settings.tables import SettingsError
from torchrepro_lint.settings.torch_version import project_torch
from torchrepro_lint.settings.values import DEFAULT_EXCLUDE, Settings, SettingsSource

__all__ = ["DEFAULT_EXCLUDE", "Settings", "SettingsError", "SettingsResolver", "SettingsSource", "project_torch"]
