#!/usr/bin/env python3
"""Writes the lock files that ship with the project: files/wheels/<platform>-cp3XX.lock.

Run it after a change of constraints.txt or of the dependencies in pyproject.toml, with the project's own
Python:

    .venv/bin/python tools/wheel_lock.py            # all of them
    .venv/bin/python tools/wheel_lock.py --check    # only say whether they fit constraints.txt; status 1 if
    not

It downloads every wheel once (some hundred MB for each lock) to learn its hash, and deletes it again. A
release whose file is another one than in the lock before is refused: pass --accept-new-hashes when that is
known to be right.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "plugins" / "module_utils"))

from espalier.wheel_lock import (  # noqa: E402 - the path has to be set first
    LockError,
    applicable,
    hash_conflicts,
    lock_name,
    lock_problems,
    marker_environment,
    parse_constraints,
    parse_lock,
)
from espalier.wheelhouse import Target, load_lock, make_lock, project_dependencies, write_atomically  # noqa: E402

FOLDER = ROOT / "files" / "wheels"
TARGETS = tuple(Target(("macosx_14_0_arm64",), version) for version in ("3.11", "3.12", "3.13"))
"""macOS 14 is the oldest that Espalier supports; Pythons as in the role training."""


def problems_of(target: Target) -> list[str]:
    """Why the target's lock does not fit, a sentence each."""
    path = FOLDER / f"{lock_name(target.platforms, target.python_version)}.lock"
    pins = load_lock(path)
    if pins is None:
        return [f"{path.relative_to(ROOT)} is missing"]
    environment = marker_environment(target.platforms[0], target.python_version)
    wanted = applicable(project_dependencies(ROOT / "pyproject.toml"), environment, "pyproject.toml")
    constraints = parse_constraints((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    return [f"{path.relative_to(ROOT)}: {problem}" for problem in lock_problems(pins, wanted, constraints)]


def renew(target: Target, accept_new_hashes: bool) -> str:
    """Write the target's lock and return its path.

    Raises:
        LockError: a wheel does not exist, or a known release has other content than before.
    """
    path = FOLDER / f"{lock_name(target.platforms, target.python_version)}.lock"
    constraints = parse_constraints((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    text = make_lock(project_dependencies(ROOT / "pyproject.toml"), constraints, target, wheelhouse=None)
    conflicts = hash_conflicts(load_lock(path) or {}, parse_lock(text, str(path)))
    if conflicts and not accept_new_hashes:
        raise LockError(
            f"{path.relative_to(ROOT)}: the index gives other files than before for {', '.join(conflicts)} "
            "at the same version. Find out why; --accept-new-hashes takes them."
        )
    write_atomically(path, text)
    return str(path.relative_to(ROOT))


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description="Writes the lock files that ship with the project.")
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a lock does not fit")
    parser.add_argument("--accept-new-hashes", action="store_true", help="take other files for known releases")
    options = parser.parse_args()
    try:
        if options.check:
            problems = [problem for target in TARGETS for problem in problems_of(target)]
            print("\n".join(problems) if problems else "the shipped locks fit constraints.txt")
            return 1 if problems else 0
        for target in TARGETS:
            print(renew(target, options.accept_new_hashes))
    except LockError as error:
        print(f"wheel_lock: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
