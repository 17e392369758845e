#!/usr/bin/env python3
"""`make demo`: from an empty machine to a trained model and a report, step by step.

Standard library only, since it runs before anything is installed. It prints a line a step with the time
that it took; what the steps print goes to files under build/<demo>/logs/. Each step may be killed at any
moment: the next run does again what is not finished, because every step is itself safe to repeat.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
_AGAIN = "Run the same command again: it goes on where it can."
HEARTBEAT_S = 30.0
"""How often a step without a terminal says that it is still at work."""

_RECAP = re.compile(
    r"^(?P<host>\S+)\s*:\s*ok=(?P<ok>\d+)\s+changed=(?P<changed>\d+)\s+unreachable=(?P<unreachable>\d+)"
    r"\s+failed=(?P<failed>\d+)",
    re.MULTILINE,
)


class StepError(Exception):
    """A step ended with a status other than 0; the message names the step, the status and its log."""


@dataclass(frozen=True)
class Recap:
    """What Ansible's PLAY RECAP says of one run of a playbook, localhost left out."""

    hosts: int
    changed: int
    failed: int


def parse_recap(log: str) -> Recap:
    """Read the PLAY RECAP of an ansible-playbook log.

    Raises:
        ValueError: the log has no recap, as when the run was refused or cut off.
    """
    rows = [row for row in _RECAP.finditer(log) if row["host"] != "localhost"]
    if not rows:
        raise ValueError("there is no PLAY RECAP with a host in it")
    return Recap(
        hosts=len(rows),
        changed=sum(int(row["changed"]) for row in rows),
        failed=sum(1 for row in rows if int(row["failed"]) or int(row["unreachable"])),
    )


def write_json(path: Path, value: object) -> None:
    """Write a JSON file so that a reader sees the old or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(path.suffix + ".part")
    temporary.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
    temporary.replace(path)


@dataclass
class Steps:
    """Runs the steps one after the other and keeps their times."""

    output: Path
    total: int
    started: float = field(default_factory=time.monotonic)
    done: list[dict[str, object]] = field(default_factory=list)

    def run(
        self,
        name: str,
        command: Sequence[str | Path],
        environment: dict[str, str] | None = None,
        *,
        cached: bool = False,
    ) -> Path:
        """Run one step; its output goes to a log file, whose path is returned.

        Args:
            name: For the person who waits.
            command: What is run.
            environment: On top of this program's own.
            cached: Whether an earlier run left work that this step can use, so that its time is not a fresh one.

        Raises:
            StepError: the command ended with a status other than 0.
        """
        number = len(self.done) + 1
        log = self.output / "logs" / f"{number:02}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        label = f"[{number}/{self.total}] {name}"
        begin = time.monotonic()
        with log.open("wb") as stream:
            stream.write(("$ " + " ".join(map(str, command)) + "\n").encode())
            stream.flush()
            # Its own session: Ctrl-C reaches this program alone, which then ends the whole group of the step.
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
            try:
                self._follow(process, label, begin, log)
            finally:
                _end_group(process)
        seconds = time.monotonic() - begin
        if process.returncode != 0:
            raise StepError(f"{name}: ended with status {process.returncode}. Log: {_shown(log)}\n{_tail(log)}")
        self.done.append({"name": name, "seconds": round(seconds, 1), "cached": cached})
        _say(f"{label:<58}{seconds:7.1f} s", final=True)
        return log

    def _follow(self, process: subprocess.Popen[bytes], label: str, begin: float, log: Path) -> None:
        terminal = sys.stdout.isatty()
        last_said = begin
        while process.poll() is None:
            try:
                process.wait(timeout=0.5 if terminal else 1.0)
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                if terminal:
                    _say(f"{label:<58}{now - begin:7.0f} s  {_current_task(log)[:60]}", final=False)
                elif now - last_said >= HEARTBEAT_S:
                    last_said = now
                    _say(f"{label:<58}{now - begin:7.0f} s  {_current_task(log)}", final=True)

    def write(self, complete: bool) -> None:
        """Write steps.json, which the benchmark of this path reads."""
        write_json(
            self.output / "steps.json",
            {
                "steps": self.done,
                "total_seconds": round(time.monotonic() - self.started, 1),
                "complete": complete,
            },
        )


def _say(text: str, *, final: bool) -> None:
    if sys.stdout.isatty():
        sys.stdout.write("\r\x1b[2K" + text + ("\n" if final else ""))
    elif final:
        sys.stdout.write(text.rstrip() + "\n")
    sys.stdout.flush()


def _current_task(log: Path) -> str:
    """The last task that an Ansible log names, for the person who waits."""
    with log.open("rb") as stream:
        stream.seek(max(0, log.stat().st_size - 8192))
        text = stream.read().decode("utf-8", "replace")
    tasks = re.findall(r"^TASK \[(.+?)\] \*+", text, re.MULTILINE)
    return tasks[-1] if tasks else ""


def _tail(log: Path, lines: int = 15) -> str:
    text = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    return "\n".join("    " + line for line in text[-lines:])


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _end_group(process: subprocess.Popen[bytes], grace_s: float = 10.0) -> None:
    """End what is left of a step's process group: first politely, so that ssh and Ansible clean up."""
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 1.0)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        limit = time.monotonic() + wait_s
        while time.monotonic() < limit:
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


def _installed(profile: str) -> bool:
    return any((ROOT / ".venv" / f"espalier-{name}.stamp").exists() for name in {profile, "rack"})


def _cache() -> Path:
    return Path(os.environ.get("ESPALIER_CACHE", Path.home() / ".cache" / "espalier"))


def rack_demo(output: Path) -> None:
    """Make the rack, set it up with site.yml, twice, train and benchmark on it, and write the report."""
    name = os.environ.get("ESPALIER_LAB", "demo")
    playbook = ROOT / ".venv" / "bin" / "ansible-playbook"
    environment = {"ESPALIER_LAB": name, "ANSIBLE_NOCOLOR": "1", "PYTHONUNBUFFERED": "1"}
    raw = output / "raw"
    steps = Steps(output, total=5)
    complete = False
    try:
        steps.run("Install what is missing", ["tools/bootstrap.sh", "rack"], cached=_installed("rack"))
        steps.run(
            "Make the rack",
            [PYTHON, "molecule/lab/rack.py", "up", "--name", name],
            cached=any((_cache() / "lab").glob("*.tar")),
        )
        begin = time.monotonic()
        first = _recap(steps.run("Set it up: site.yml", [playbook, "site.yml"], environment))
        seconds = time.monotonic() - begin
        second = _recap(steps.run("Again, to see that nothing changes", [playbook, "site.yml"], environment))
        write_json(
            raw / "site.json",
            {
                "hosts": first.hosts,
                "failed": first.failed,
                "seconds": round(seconds, 1),
                "second_run_changed": second.changed,
            },
        )
        steps.run(
            "Train and measure: playbooks/benchmark.yml",
            [
                playbook,
                "playbooks/benchmark.yml",
                "-e",
                json.dumps({"espalier_raw": str(raw), "espalier_output": str(output)}),
            ],
            environment,
        )
        complete = True
    finally:
        steps.write(complete)
    _finish(output, ["make demo-down           removes the rack", "make lab-ssh HOST=mac1   logs in to a node"])


def local_demo(output: Path) -> None:
    """Train with two ranks on this machine over the loopback and write the same report, without a rack."""
    raw = output / "raw"
    steps = Steps(output, total=7)
    espalier = [str(PYTHON), "-m", "training"]
    complete = False
    try:
        steps.run("Install what is missing", ["tools/bootstrap.sh", "local"], cached=_installed("local"))
        steps.run(
            "All-reduce by size, 2 ranks",
            [*espalier, "bench", "allreduce", "--local-ranks", "2", "--output", str(raw)],
        )
        for job in ("digits", "gpt"):
            for label, ranks in (("one", 1), ("all", 2)):
                steps.run(
                    f"Train {job}, {ranks} rank{'s' if ranks > 1 else ''}",
                    [
                        *espalier,
                        "train",
                        job,
                        "--local-ranks",
                        str(ranks),
                        "--output",
                        str(raw / "train" / job / label),
                    ],
                )
        steps.run("Write the report", [*espalier, "report", "--input", str(raw), "--output", str(output)])
        complete = True
    finally:
        steps.write(complete)
    _finish(output, ['README.md, "On your own Macs"', "make demo   the whole rack, on Debian or Ubuntu"])


def unsupported(system: str, has_apt: bool, *, local: bool) -> str | None:
    """Why this system cannot run the demo and what can be done, or None when it can."""
    if system == "Darwin" or (system == "Linux" and (local or has_apt)):
        return None
    if system == "Linux":
        return (
            "make demo needs Debian or Ubuntu (apt-get) and root or sudo. "
            "Without them: make demo-local trains on this machine alone."
        )
    return f"make demo needs Debian or Ubuntu, or a Mac; this is {system or 'an unknown system'}."


def _recap(log: Path) -> Recap:
    try:
        return parse_recap(log.read_text(encoding="utf-8", errors="replace"))
    except ValueError as error:
        raise StepError(f"{_shown(log)}: {error}") from error


def _finish(output: Path, next_steps: Sequence[str]) -> None:
    summary = subprocess.run(
        [str(PYTHON), "-m", "training", "report", "--summary", str(output / "report.json")],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    print()
    print(summary.stdout.rstrip() if summary.returncode == 0 else summary.stderr.rstrip())
    print()
    print(f"The report:   {_shown(output / 'report.html')}   (numbers: {_shown(output / 'report.json')})")
    print("What next:    " + "\n              ".join(next_steps))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; exit status 0 done, 1 a step failed, 2 an unfit system, 130 interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--local", action="store_true", help="no rack: two ranks on this machine")
    parser.add_argument("--output", type=Path, help="default: build/demo, or build/demo-local")
    options = parser.parse_args(arguments)
    reason = unsupported(platform.system(), shutil.which("apt-get") is not None, local=options.local)
    if reason:
        print(reason, file=sys.stderr)
        return 2
    local = options.local or platform.system() == "Darwin"
    output = (options.output or ROOT / "build" / ("demo-local" if local else "demo")).resolve()
    # `kill` ends the step's group too, like Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        (local_demo if local else rack_demo)(output)
    except StepError as error:
        print(f"\n{error}\n\n{_AGAIN}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nInterrupted. {_AGAIN}", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
