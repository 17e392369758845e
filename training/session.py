"""One rank from start to end: come together, do the work, and end with the promised status."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch._C._distributed_c10d import Store, TCPStore

from training.distributed.unified import CollectiveError
from training.errors import EXIT_DONE, EspalierError, FabricError, InterruptedRunError
from training.interrupts import Interrupts
from training.launch import open_store, process_group
from training.placement import Placement
from training.schema import DistributedOptions

INTERRUPTED = "espalier/interrupted"
# The first rank holds the store; it stays this long so that the others can read why the run ended.
LINGER_S = 1.0
ASK_S = 2.0
# What gloo writes when a connection or a deadline broke, whatever torch wraps round it.
GLOO_MARKS = ("gloo", "Connection closed", "Connection reset", "Broken pipe", "Timed out waiting")


@dataclass(frozen=True)
class Session:
    """What the work of a rank can use.

    Attributes:
        place: This rank's place.
        store: The store that all ranks share.
    """

    place: Placement
    store: Store


def run_rank(
    place: Placement,
    options: DistributedOptions,
    work: Callable[[Session], None],
    listener: socket.socket | None = None,
) -> int:
    """Runs `work` with all ranks connected, and tells the person what went wrong.

    Args:
        place: This rank's place.
        options: Backend and timeouts.
        work: What the rank does.
        listener: On the first rank, the socket of the store if it is open already.

    Returns:
        The exit status.
    """
    interrupts = Interrupts()
    store: TCPStore | None = None
    try:
        interrupts.install()
        if place.threads:
            torch.set_num_threads(place.threads)
        store = open_store(place, options.connect_timeout_s, listener)
        with process_group(place, store, options.backend, options.timeout_s):
            work(Session(place, store))
        return EXIT_DONE
    except EspalierError as error:
        return _end(place, store, error)
    except RuntimeError as error:
        if interrupts.received:
            return _end(place, store, InterruptedRunError(f"ended by {interrupts.received}"))
        if not isinstance(error, CollectiveError) and not any(mark in str(error) for mark in GLOO_MARKS):
            raise
        by_whom = _interrupted_by(store)
        if by_whom:
            return _end(place, None, InterruptedRunError(f"ended, because {by_whom} was interrupted"))
        reason = str(error) if isinstance(error, CollectiveError) else _without_trace(place, error)
        return _end(place, store, FabricError(reason))


def _without_trace(place: Placement, error: RuntimeError) -> str:
    """An error that reached us through torch's own C++ code, which drops who it was about."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    others = ", ".join(name for name in place.names if name != place.name)
    return f"rank {place.rank} ({place.name}): a collective with {others} failed: {line}"


def _end(place: Placement, store: TCPStore | None, error: EspalierError) -> int:
    if isinstance(error, InterruptedRunError):
        if store is not None:
            with contextlib.suppress(RuntimeError):
                store.set(INTERRUPTED, place.name)
            if place.rank == 0 and place.world_size > 1:
                time.sleep(LINGER_S)
        if place.rank == 0:
            print(f"espalier: {error}", file=sys.stderr)
    else:
        print(f"espalier: {error}", file=sys.stderr)
    sys.stderr.flush()
    return error.exit_status


def _interrupted_by(store: TCPStore | None) -> str | None:
    """The node that was interrupted, if one was. The store's host may be gone, so asking has a limit."""
    answer: list[str] = []

    def ask() -> None:
        with contextlib.suppress(RuntimeError):
            if store is not None and store.check([INTERRUPTED]):
                answer.append(store.get(INTERRUPTED).decode())

    thread = threading.Thread(target=ask, name="espalier-why", daemon=True)
    thread.start()
    thread.join(ASK_S)
    return answer[0] if answer else None
