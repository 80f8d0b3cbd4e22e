"""Proves the fixes to a person who watches: `python -m tests.proof`, or with names of programs.

Prints one line per program and exits with 1 if a proof does not hold. With `--fresh`, no run shares an imported
PyTorch with another: each starts an interpreter of its own, which takes more than twice as long.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import preloaded

from .machines import Broken, Machine, two_machines
from .program import Program, names
from .proving import Proof, prove

WIDTH = max(map(len, names()))


def row(name: str, fixed: str, before: str, after: str, seconds: str) -> str:
    return f"{name:{WIDTH}}  {before:8}  {after:8}  {seconds:>7}  {fixed}"


def result(program: Program, proof: Proof) -> list[str]:
    before, after = "differ" if len(proof.before) > 1 else "SAME", "DIFFER" if proof.after else "equal"
    lines = [row(program.name, " ".join(proof.fixed), before, after, f"{proof.seconds:.1f}")]
    if proof.unnamed:
        lines.append(f"  not reported: {', '.join(proof.unnamed)}")
    if len(proof.before) < 2:
        lines.append(f"  differs before the fix: {', '.join(proof.before) or 'nothing'}")
    if proof.after:
        lines.append(f"  differs after the fix: {', '.join(proof.after)}")
    return lines


def shown(program: Program, machines: list[Machine]) -> bool:
    """Whether the proof holds, or cannot be given here; prints what came of it."""
    if program.missing:
        print(f"{program.name:{WIDTH}}  skipped: {', '.join(program.missing)} is not installed")
        return True
    try:
        proof = prove(program, machines)
    except Broken as broken:
        print(f"{program.name:{WIDTH}}  BROKEN: {broken}")
        return False
    print("\n".join(result(program, proof)), flush=True)
    return proof.holds


def main(arguments: list[str]) -> int:
    chosen = [name for name in arguments if name != "--fresh"]
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        print(f"no such program: {', '.join(unknown)}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    print(row("program", "rules fixed", "before", "after", "seconds"))
    python = sys.executable if "--fresh" in arguments else None
    with preloaded.provided(), two_machines(python) as machines:
        held = [shown(Program.read(name), machines) for name in chosen or names()]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
