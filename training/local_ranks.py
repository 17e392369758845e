"""Several ranks on this machine: one process each, and one end for all of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import socket
import sys
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

from training.errors import EXIT_BAD_INPUT, EXIT_DONE, EXIT_FABRIC, EXIT_INTERRUPTED
from training.interrupts import end_with_parent
from training.placement import LOOPBACK, Placement, on_this_machine
from training.tasks import Task

# After one rank has failed, the others see a closed connection and say so within this time.
GRACE_S = 5.0
KILL_S = 2.0


def run_local(count: int, task: Task) -> int:
    """Starts `count` processes and waits for all of them.

    Args:
        count: Ranks.
        task: What each of them does; must be picklable.

    Returns:
        0 when all ranks ended well; 130 when interrupted; otherwise the status of the failed rank, 3 if it
        was killed.

    Raises:
        InputError: The count is less than 1.
    """
    # Opened here and handed to the first rank, so that no other program can take the port in between.
    with socket.create_server((LOOPBACK, 0)) as listener:
        places = on_this_machine(count, listener.getsockname()[1])
        context = multiprocessing.get_context("spawn")
        stop = _Stop()
        with stop:
            processes: list[BaseProcess] = []
            for place in places:
                handed = listener if place.rank == 0 else None
                process = context.Process(target=_child, args=(task, place, handed), name=f"rank{place.rank}")
                process.start()
                processes.append(process)
            stop.forward_to(processes)
            return _wait_for_all(processes, stop)


class _Stop:
    """Forwards an interruption of this process to its ranks, which ignore the terminal's own Ctrl-C."""

    def __init__(self) -> None:
        self.requested = False
        self._processes: Sequence[BaseProcess] = ()
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        # An ignored signal stays ignored in the processes that are started now.
        self._before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN)}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def forward_to(self, processes: Sequence[BaseProcess]) -> None:
        self._processes = processes
        signal.signal(signal.SIGINT, self._handle)
        self._before[signal.SIGTERM] = signal.signal(signal.SIGTERM, self._handle)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self.requested = True
        _terminate(self._processes)


def _child(task: Task, place: Placement, listener: socket.socket | None) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        end_with_parent(parent.sentinel)
    sys.exit(task.run(place, listener))


def _terminate(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, ValueError):
            process.terminate()


def _wait_for_all(processes: Sequence[BaseProcess], stop: _Stop) -> int:
    deadline: float | None = None
    terminated = False
    first_failure: BaseProcess | None = None
    while any(process.is_alive() for process in processes):
        wait([process.sentinel for process in processes if process.is_alive()], timeout=0.2)
        failed = next((process for process in processes if process.exitcode not in (None, EXIT_DONE)), None)
        first_failure = first_failure or failed
        if (failed or stop.requested) and deadline is None:
            deadline = time.monotonic() + GRACE_S
        if deadline is not None and time.monotonic() > deadline:
            if terminated:
                for process in processes:
                    process.kill()
            else:
                _terminate(processes)
                terminated, deadline = True, time.monotonic() + KILL_S
    return _status(processes, first_failure, stop)


def _status(processes: Sequence[BaseProcess], first: BaseProcess | None, stop: _Stop) -> int:
    codes = [process.exitcode for process in processes]
    if stop.requested or EXIT_INTERRUPTED in codes:
        print("espalier: interrupted; all ranks have ended", file=sys.stderr)
        return EXIT_INTERRUPTED
    if first is None:
        return EXIT_DONE
    killed = [(process.name, -code) for process, code in zip(processes, codes, strict=True) if code and code < 0]
    for name, number in killed:
        if number != signal.SIGTERM:
            print(f"espalier: {name} was ended by {signal.Signals(number).name}", file=sys.stderr)
    if EXIT_BAD_INPUT in codes:
        return EXIT_BAD_INPUT
    code = first.exitcode or 0
    return code if code > 0 else EXIT_FABRIC
