#!/usr/bin/env python3
"""Runs one rank of a training run on this node, out of reach of the SSH session that starts it.

    espalier_rank.py start --run-dir DIR --lock FILE [--lease-s 120] [--replace] -- COMMAND...
    espalier_rank.py stop --lock FILE
    espalier_rank.py free --lock FILE

`start` returns at once. The supervisor that it leaves behind owns the rank's process group, and ends it when
it is told to (`stop`, SIGTERM) or when nobody has touched DIR/lease for `--lease-s` seconds: a controller
that was interrupted, or lost, leaves no rank running. One rank a node: the lock is held by the supervisor and
the rank.

Files in DIR: `rank.log` (all that the rank printed), `supervisor.pid`, `lease` (touched by who watches),
`exit.json` (written last: `{"status": 3, "reason": "..."}`).

Exit status: 0 done, or free; 2 bad arguments; 75 another rank runs here (EX_TEMPFAIL of sysexits.h).
Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

BUSY = 75
GRACE_S = 10.0
"""How long a rank may take to end after SIGTERM; then comes SIGKILL. Rank 0 may be writing a result."""
POLL_S = 0.2


class ToldError(Exception):
    """The supervisor was told to end the rank."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in the file, empty when it is missing or cut off."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write the object so that a reader sees all of it or none."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(value) + "\n", encoding="utf-8")
    part.replace(path)


def acquire(lock: Path) -> int | None:
    """Take the lock and return its descriptor, or None when another rank holds it."""
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def holder(lock: Path) -> dict[str, Any]:
    """Who wrote themselves into the lock: run, supervisor, group (of the rank)."""
    return read_json(lock)


def write_holder(descriptor: int, who: dict[str, Any]) -> None:
    """Write into the open lock file; the file itself must stay, since the lock is on it."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, (json.dumps(who) + "\n").encode(), 0)


def signal_group(group: int, number: int) -> bool:
    """Send the signal to a process group; whether there still is one."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # macOS says so of a group in which only zombies are left
        return False
    return True


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End the rank and all it started: SIGTERM, then SIGKILL after the grace time."""
    signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_S)
    signal_group(process.pid, signal.SIGKILL)
    process.wait()


def stop(lock: Path, wait_s: float = GRACE_S + 5.0) -> bool:
    """End the rank that holds the lock, if any; whether the lock is free afterwards."""
    deadline = time.monotonic() + wait_s
    told = False
    while time.monotonic() < deadline:
        descriptor = acquire(lock)
        if descriptor is not None:
            os.close(descriptor)
            return True
        who = holder(lock)
        supervisor, group = int(who.get("supervisor", 0)), int(who.get("group", 0))
        alive = False
        if supervisor > 1:
            with contextlib.suppress(ProcessLookupError):
                os.kill(supervisor, 0 if told else signal.SIGTERM)
                alive = True
        if not alive and group > 1:
            # the supervisor was killed: the rank alone still holds the lock
            signal_group(group, signal.SIGKILL)
        told = True
        time.sleep(POLL_S)
    return False


def lease_age_s(lease: Path) -> float:
    """Seconds since somebody last touched the lease; a lease that was removed has run out."""
    try:
        return time.time() - lease.stat().st_mtime
    except FileNotFoundError:
        return float("inf")


def supervise(command: list[str], run_dir: Path, descriptor: int, lease_s: float) -> None:
    """Run the command to its end, or end it; then say in exit.json how it ended."""

    def on_signal(_number: int, _frame: object) -> None:
        raise ToldError

    signal.signal(signal.SIGTERM, on_signal)
    try:
        # the rank holds the lock too: if this supervisor is killed, the node still counts as taken
        process = subprocess.Popen(  # noqa: S603 - a list, which no shell reads; its caller could run it anyway
            command,
            stdin=subprocess.DEVNULL,
            cwd=run_dir,
            start_new_session=True,
            pass_fds=(descriptor,),
        )
    except OSError as error:
        write_json(run_dir / "exit.json", {"status": 127, "reason": f"{command[0]} could not be started: {error}"})
        return
    reason = ""
    try:
        write_holder(descriptor, {"run": run_dir.name, "supervisor": os.getpid(), "group": process.pid})
        while process.poll() is None:
            if lease_s > 0 and lease_age_s(run_dir / "lease") > lease_s:
                reason = f"nobody has watched this rank for {lease_s:.0f} s: the controller was interrupted or is gone"
                break
            time.sleep(POLL_S)
    except ToldError:
        reason = "it was told to end"
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_group(process)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    if not reason and process.returncode < 0:
        reason = f"killed by {signal.Signals(-process.returncode).name}"
    write_json(run_dir / "exit.json", {"status": status, "reason": reason})


def detach(run_dir: Path) -> bool:
    """Fork a process of its own session, whose output goes to rank.log.

    True in that process, False in the caller, which gets its answer when `supervisor.pid` has been written.
    """
    middle = os.fork()
    if middle > 0:
        os.waitpid(middle, 0)
        return False
    os.setsid()
    supervisor = os.fork()
    if supervisor > 0:
        (run_dir / "supervisor.pid").write_text(f"{supervisor}\n", encoding="utf-8")
        os._exit(0)
    output = os.open(run_dir / "rank.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    return True


def busy(lock: Path) -> str:
    """A sentence about the rank that holds the lock; empty when the lock is free."""
    descriptor = acquire(lock) if lock.exists() else -1
    if descriptor is not None:
        if descriptor >= 0:
            os.close(descriptor)
        return ""
    who = holder(lock)
    return f"run {who.get('run', '?')} is still running here (process {who.get('group', '?')})"


def start(run_dir: Path, lock: Path, lease_s: float, replace: bool, command: list[str]) -> int:
    """Start a supervisor with the command; see the module's text for the files and the status."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = acquire(lock)
    if descriptor is None and replace:
        stop(lock)
        descriptor = acquire(lock)
    if descriptor is None:
        print(busy(lock) or "another rank is just starting here", file=sys.stderr)
        return BUSY
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / "exit.json").unlink(missing_ok=True)
    (run_dir / "lease").touch()
    if detach(run_dir):
        status = 0
        try:
            supervise(command, run_dir, descriptor, lease_s)
        except BaseException as error:
            write_json(run_dir / "exit.json", {"status": 1, "reason": f"the supervisor failed: {error!r}"})
            status = 1
        finally:
            os._exit(status)
    return 0


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(description="Runs one rank on this node.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    starting = verbs.add_parser("start", help="start a command in the background")
    starting.add_argument("--run-dir", type=Path, required=True)
    starting.add_argument("--lock", type=Path, required=True)
    starting.add_argument("--lease-s", type=float, default=120.0, help="0: nobody needs to watch")
    starting.add_argument("--replace", action="store_true", help="end a rank that still runs here")
    starting.add_argument("command", nargs="+")
    stopping = verbs.add_parser("stop", help="end the rank that runs here, if any")
    stopping.add_argument("--lock", type=Path, required=True)
    asking = verbs.add_parser("free", help="whether no rank runs here")
    asking.add_argument("--lock", type=Path, required=True)
    options = parser.parse_args()
    if options.verb == "free":
        sentence = busy(options.lock)
        if sentence:
            print(sentence, file=sys.stderr)
        return BUSY if sentence else 0
    if options.verb == "start":
        run_dir = options.run_dir.absolute()
        return start(run_dir, options.lock.absolute(), options.lease_s, options.replace, options.command)
    if options.lock.exists() and not stop(options.lock.absolute()):
        print(f"the rank that holds {options.lock} did not end", file=sys.stderr)
        return BUSY
    return 0


if __name__ == "__main__":
    sys.exit(main())
