"""Writes the table of rules in README.md from the cards; with --check, only says whether it is up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from torchrepro_lint import cards

README = Path(__file__).parents[1] / "README.md"
GROUPS = {
    "0": "The tool itself", "1": "Seeding", "2": "Data loading and order", "3": "Distributed", "4": "Back-end flags",
    "5": "Operations", "6": "Frameworks", "7": "Resuming", "8": "Environment",
}  # fmt: skip


def table() -> str:
    lines = ["| rule | what it finds | fix |", "|---|---|---|"]
    group = ""
    for code, card in cards.load_cards().items():
        if code[3] != group:
            group = code[3]
            lines.append(f"| **{GROUPS[group]}** | | |")
        page = card.path.relative_to(README.parent).as_posix()
        off = "" if card.default else " (off by default)"
        fix = "" if card.fix == "none" else card.fix
        lines.append(f"| [{code}]({page}) {card.name} | {card.summary}{off} | {fix} |")
    return "\n".join(lines)


def main() -> int:
    old = README.read_text(encoding="utf-8")
    new = re.sub(r"(<!-- rules -->\n).*?(<!-- /rules -->)", lambda m: f"{m[1]}{table()}\n{m[2]}", old, flags=re.DOTALL)
    if "--check" in sys.argv:
        print(
            "README.md: the table of rules is out of date; run scripts/rules_table.py" if old != new else "up to date"
        )
        return int(old != new)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
