#!/usr/bin/env python3
"""Kills ranks at random moments, during checkpoints too, and compares every loss with an uninterrupted run.

    python -m tools.bench.recovery [--kills 100] [--ranks 2] [--seed 1]

Ranks save every second step and write in the background all the time, so nearly every kill hits a save.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tools.bench.kill_run import Trial, trial
from tools.bench.targets import Target, conclude, machine

# Enough steps that no incarnation reaches the end: about ten between two kills.
STEPS_A_KILL = 60


def targets(outcome: Trial, kills: int, seed: int) -> list[Target]:
    """Judges a trial."""
    how = f"{kills} kills by SIGKILL, seed {seed}; went on at steps {outcome.resumed_at[0]} to {outcome.resumed_at[-1]}"
    fell_back = sum(later < earlier for earlier, later in zip(outcome.resumed_at, outcome.resumed_at[1:], strict=False))
    return [
        Target("recovery_resumes", len(outcome.resumed_at) - 1, "==", kills, how),
        Target("recovery_differing_losses", len(outcome.differing), "==", 0, f"of {outcome.compared}, bit for bit"),
        Target("recovery_lost_checkpoints", fell_back, "==", 0, "resumes behind a step resumed from before"),
    ]


def main() -> int:
    """Runs the trial, prints and judges; 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=100, help="how many (default: %(default)s)")
    parser.add_argument("--ranks", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of moments and ranks (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = STEPS_A_KILL * options.kills
        outcome = trial(Path(folder), options.kills, options.seed, steps, options.ranks)
    return conclude("recovery", targets(outcome, options.kills, options.seed), machine())


if __name__ == "__main__":
    sys.exit(main())
