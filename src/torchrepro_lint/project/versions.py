"""Which PyTorch a program is judged by, when a rule speaks of a version.

The setting is a version ("2.4.1"), a specifier (">=2.0,<2.5") or None. It stands for the newest release that
it allows: `>=1.8` allows today's PyTorch, so today's is meant; `==2.4.*` or `<2.5` mean an old one. None, and
text that cannot be read, mean the newest release in the catalogue. Knows nothing of where it came from.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from torchrepro_lint import catalogue

if TYPE_CHECKING:
    from packaging.version import Version

OLDEST_MEANT = "1.9"
_NUMBER = re.compile(r"\d+(?:\.\d+)+(?:\+[\w.]+)?")


@lru_cache(maxsize=64)
def effective(setting: str | None) -> Version:
    """The PyTorch release that `setting` stands for."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    known = [Version(v) for v in catalogue.table("backend_flags")["torch"]["versions"]]
    text = re.sub(r"^\s*torch\b", "", setting or "").strip()
    if not text:
        return known[-1]
    try:
        return Version(text)
    except InvalidVersion:
        pass
    try:
        allowed = SpecifierSet(text)
    except InvalidSpecifier:
        return known[-1]
    named = [Version(v) for v in _NUMBER.findall(text)]  # `==2.4.1`: a patch release that is not listed
    return max((v for v in [*known, *named] if allowed.contains(v, prereleases=True)), default=known[-1])


@lru_cache(maxsize=64)
def pins(setting: str) -> bool:
    """Whether it allows the releases of a single minor version, such as `==2.4.1` or `>=2.4,<2.5`."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    try:
        allowed = SpecifierSet(setting if setting[:1] in "=<>!~" else f"=={setting}")
    except InvalidSpecifier:
        return False
    known = [Version(v) for v in catalogue.table("backend_flags")["torch"]["versions"]]
    named = [Version(v) for v in _NUMBER.findall(setting)]
    beyond = Version("999.0")
    fitting = {v.release[:2] for v in [*known, *named, beyond] if allowed.contains(v, prereleases=True)}
    return len(fitting) == 1 and beyond.release[:2] not in fitting


@lru_cache(maxsize=64)
def allowed_in(setting: str | None, specifier: str) -> Literal["all", "some", "none"]:
    """How many of the releases that a project allows lie in `specifier`. A project that names no oldest one is taken
    to begin with OLDEST_MEANT."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    text = re.sub(r"^\s*torch\b", "", setting or "").strip()
    try:
        allowed = SpecifierSet(text if not text or text[0] in "=<>!~" else f"=={text}")
    except InvalidSpecifier:
        allowed = SpecifierSet("")
    known = [Version(v) for v in catalogue.table("backend_flags")["torch"]["versions"]]
    begins = any(s.operator not in ("<", "<=", "!=") for s in allowed)
    meant = [v for v in known if begins or v >= Version(OLDEST_MEANT)]
    named = [Version(v) for v in _NUMBER.findall(text)]  # `==1.5.1`: a patch release that is not listed
    releases = [v for v in [*meant, *named] if allowed.contains(v, prereleases=True)] or meant
    inside = [SpecifierSet(specifier).contains(v, prereleases=True) for v in releases]
    return "all" if all(inside) else "some" if any(inside) else "none"


def allows_from(specifier: str | None, oldest: str) -> bool:
    """Whether what a project asks for of some package may be the release `oldest` or a later one."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import Version

    try:
        allowed = SpecifierSet(specifier or "")
    except InvalidSpecifier:
        return True
    named = [Version(number) for number in _NUMBER.findall(specifier or "")]
    later = (v for v in (*named, Version(oldest), Version("1000")) if v >= Version(oldest))
    return any(allowed.contains(version, prereleases=True) for version in later)


@lru_cache(maxsize=64)
def may_be(setting: str | None, specifier: str) -> bool:
    """Whether the PyTorch that `setting` stands for lies in `specifier`, e.g. "<2.10"."""
    if not setting and specifier.startswith(("<", ">")):
        return specifier.startswith(">")  # the newest release is above every bound; no need to import `packaging`
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(specifier).contains(effective(setting), prereleases=True)
