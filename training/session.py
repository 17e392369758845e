"""One rank from start to end: come together, do the work, and end with the promised status."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch._C._distributed_c10d import PrefixStore, Store

from training.distributed.diagnosis import diagnose, wrapped_diagnosis
from training.distributed.fabric_view import FabricView
from training.distributed.roll_call import RollCall
from training.distributed.unified import CollectiveError
from training.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EspalierError,
    FabricError,
    InterruptedRunError,
)
from training.interrupts import Interrupts
from training.launch import open_store, process_group
from training.placement import Placement
from training.schema import DistributedOptions

# The first rank holds the store; it stays this long so that the others can read why the run ended.
LINGER_S = 1.0
# What gloo and the store write when a connection or a deadline broke, whatever torch wraps round it.
MARKS = ("gloo", "Connection closed", "Connection reset", "Broken pipe", "imed out", "wait timeout")


@dataclass(frozen=True)
class Session:
    """What the work of a rank can use.

    Attributes:
        place: This rank's place.
        store: The store that all ranks share.
        options: Backend and timeouts.
    """

    place: Placement
    store: Store
    options: DistributedOptions


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
    view = FabricView(place.address, place.names, place.addresses, place.cables)
    roll_call: RollCall | None = None
    try:
        interrupts.install()
        if place.threads:
            torch.set_num_threads(place.threads)
        store = open_store(place, options.connect_timeout_s, listener)
        roll_call = RollCall(PrefixStore("roll-call", store), place.rank, place.world_size)
        with process_group(place, store, view, roll_call, options.backend, options.timeout_s):
            work(Session(place, store, options))
        return EXIT_DONE
    except EspalierError as error:
        return _end(place, roll_call, error)
    except RuntimeError as error:
        if interrupts.received:
            return _end(place, roll_call, InterruptedRunError(f"ended by {interrupts.received}"))
        if not isinstance(error, CollectiveError) and not any(mark in str(error) for mark in MARKS):
            if roll_call:
                roll_call.say_farewell(1, f"{type(error).__name__}: {error}")
            raise
        return _end_after_peer(place, roll_call, error, view, options)


def _end(place: Placement, roll_call: RollCall | None, error: EspalierError) -> int:
    """Ends for a reason of this rank's own, or one that all ranks see alike."""
    interrupted = isinstance(error, InterruptedRunError)
    if roll_call and place.world_size > 1:
        roll_call.say_farewell(error.exit_status, str(error))
        if place.rank == 0:
            time.sleep(LINGER_S)
    if place.rank == 0 or not interrupted:
        _say(str(error))
    return error.exit_status


def _end_after_peer(
    place: Placement,
    roll_call: RollCall | None,
    error: RuntimeError,
    view: FabricView,
    options: DistributedOptions,
) -> int:
    """Ends because a collective failed: for the reason that a peer left, or with a diagnosis."""
    farewell = roll_call.farewell() if roll_call else None
    if farewell and farewell.rank != place.rank:
        who = view.name(farewell.rank)
        if farewell.status == EXIT_INTERRUPTED:
            _say(f"{view.name(place.rank)}: ended, because {who} was interrupted")
            return EXIT_INTERRUPTED
        _say(f"{view.name(place.rank)}: ended, because {who} did: {farewell.reason}")
        return farewell.status if farewell.status > 1 else FabricError.exit_status
    # An error that came through torch's own C++ code is another type, with ours as part of its text, or with
    # gloo's alone, which does not say what it was about.
    sentence = str(error) if isinstance(error, CollectiveError) else wrapped_diagnosis(str(error))
    if sentence:
        _say(sentence)
    else:
        _say(
            diagnose(
                str(error),
                what="a collective",
                rank=place.rank,
                view=view,
                roll_call=roll_call,
                timeout_s=options.timeout_s,
            )
        )
    return FabricError.exit_status


def _say(text: str) -> None:
    print(f"espalier: {text}", file=sys.stderr, flush=True)
