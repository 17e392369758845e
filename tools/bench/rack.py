"""`make bench-rack`: the targets of the rack in a box, judged by what `make demo` measured.

    python -m tools.bench.rack [--demo build/demo] [--no-run]

A complete run of the demo is used as it is. What is missing is run: the demo once if there is no complete
run, and once more if no repeated run was seen. A fresh machine is fresh only once, so the time of a fresh run
is kept in build/bench/rack-fresh.json; where none was seen, that target is not judged and the output says so.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.bench.targets import FOLDER, ROOT, Target, conclude, machine

FRESH_S = 900
"""About 15 minutes on 2 cores."""
REPEAT_S = 300
"""About 5 minutes."""
ACCURACY = 0.97
DIFFERENCE = 0.01
FRESH_FILE = "rack-fresh.json"


class DemoError(Exception):
    """The demo left nothing that can be judged; the message says what is wrong with which file."""


@dataclass(frozen=True)
class DemoRun:
    """`steps.json` of one complete run.

    Attributes:
        total_s: From the first step to the last.
        cached: Whether any step found its work done by an earlier run, so that the machine was not fresh.
        steps: Name and seconds of each.
    """

    total_s: float
    cached: bool
    steps: tuple[tuple[str, float], ...]

    @property
    def slowest(self) -> str:
        """The step that took longest, in words."""
        name, seconds = max(self.steps, key=lambda step: step[1])
        return f"slowest: {name}, {seconds:.0f} s"


def read_run(path: Path) -> DemoRun | None:
    """The run that a `steps.json` describes; None if there is no file or the run was cut off.

    Raises:
        DemoError: The file is broken.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not content.get("complete", True):
            return None
        return DemoRun(
            total_s=float(content["total_seconds"]),
            cached=any(bool(step["cached"]) for step in content["steps"]),
            steps=tuple((str(step["name"]), float(step["seconds"])) for step in content["steps"]),
        )
    except FileNotFoundError:
        return None
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise DemoError(f"{path}: is broken: {type(error).__name__} {error}. Run make demo again.") from error


def judge(report: dict[str, Any], repeat: DemoRun | None, fresh: DemoRun | None) -> list[Target]:
    """The targets. A number that the report lacks is a target that is missed."""
    digits, gpt = report["train"]["digits"], report["train"]["gpt"]
    one, every = digits["accuracy_one"], digits["accuracy_all"]
    difference = abs(one - every) if one is not None and every is not None else None
    ranks = report["allreduce_setup"]["world_size"]
    targets = []
    if fresh is not None:
        targets.append(_time("demo_fresh_s", fresh, FRESH_S, "nothing was there before"))
    targets += [
        _time("demo_repeat_s", repeat, REPEAT_S, "rack, packages and wheels were there"),
        Target(
            "site.second_run_changed",
            report["site"]["second_run_changed"],
            "==",
            0,
            "tasks changed by site.yml right after site.yml, all hosts",
        ),
        Target("site.failed", report["site"]["failed"], "==", 0, f"of {report['site']['hosts']} hosts"),
        Target("digits.accuracy_one", one, ">=", ACCURACY, "test set, one node, fixed seed"),
        Target("digits.accuracy_all", every, ">=", ACCURACY, f"test set, {ranks} nodes, fixed seed"),
        Target(
            "digits.accuracy_difference",
            difference,
            "<=",
            DIFFERENCE,
            "one node against all, same global batch",
        ),
    ]
    targets += [
        Target(
            f"{name}.replicas_identical",
            job["replicas_identical"],
            "==",
            True,
            f"SHA-256 of all parameters on {ranks} nodes",
        )
        for name, job in (("digits", digits), ("gpt", gpt))
    ]
    return targets


def _time(name: str, run: DemoRun | None, bound: int, what: str) -> Target:
    if run is None:
        return Target(name, None, "<=", bound, "no such run was seen")
    return Target(name, run.total_s, "<=", bound, f"one run, {what}; {run.slowest}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs what is missing and judges.

    Returns:
        0; 1 when a target is missed; 2 when nothing can be judged.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--demo", type=Path, default=ROOT / "build" / "demo", help="folder of the demo")
    parser.add_argument("--output", type=Path, default=FOLDER, help="where rack.json goes")
    parser.add_argument("--no-run", action="store_true", help="judge what is there, start nothing")
    options = parser.parse_args(arguments)
    try:
        run = _latest(options.demo, options.output, may_run=not options.no_run)
        report = _report(options.demo / "report.json")
        fresh = read_run(options.output / FRESH_FILE)
    except DemoError as error:
        print(f"bench-rack: {error}", file=sys.stderr)
        return 2
    environment = {**machine(), "report": report["environment"], "steps": dict(run.steps)}
    if fresh is None:
        environment["not_judged"] = ["demo_fresh_s: no run on a fresh machine was seen"]
        print(f"not judged: {environment['not_judged'][0]} (build/ and .venv/ were there before)\n")
    return conclude("rack", judge(report, run if run.cached else None, fresh), environment, options.output)


def _latest(demo: Path, output: Path, *, may_run: bool) -> DemoRun:
    """The last complete run, a repeated one if it may be run; keeps the times of a fresh one."""
    steps = demo / "steps.json"
    run = read_run(steps)
    for _ in range(2):
        if run is not None and not run.cached:
            output.mkdir(parents=True, exist_ok=True)
            (output / FRESH_FILE).write_bytes(steps.read_bytes())
        if run is not None and (run.cached or not may_run):
            return run
        if not may_run:
            raise DemoError(f"{steps}: there is no complete run. Run make demo.")
        status = subprocess.run(
            [sys.executable, "tools/demo.py", "--output", str(demo)], cwd=ROOT, check=False
        ).returncode
        if status:
            raise DemoError(f"make demo ended with status {status}; it says why above.")
        run = read_run(steps)
    if run is None:
        raise DemoError(f"{steps}: make demo ended well, but left no complete run.")
    return run


def _report(path: Path) -> dict[str, Any]:
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        for key in ("site", "train", "allreduce_setup", "environment"):
            report[key]
        return dict(report)
    except (OSError, json.JSONDecodeError, KeyError, TypeError) as error:
        raise DemoError(f"{path}: cannot be used: {type(error).__name__} {error}. Run make demo again.") from error


if __name__ == "__main__":
    sys.exit(main())
