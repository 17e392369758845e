"""Brings the ranks together: the store on the first rank's fabric address, then the process group.

torchrun's own rendezvous advertises a host name, which on macOS often resolves to the wrong interface or to
nothing; here every address is numeric and comes from the plan of the fabric.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from training.distributed.diagnosis import plain
from training.distributed.fabric_view import FabricView
from training.distributed.roll_call import RollCall
from training.distributed.unified import register
from training.errors import FabricError, InputError
from training.placement import Placement

POLL_S = 0.1
# Attempts to reach a store that is not up yet are short, so that the wait can be bounded and interrupted.
ATTEMPT = timedelta(seconds=2)


def listen(address: str, port: int) -> socket.socket:
    """The socket of the store, bound to one address; the store by itself would bind all of them.

    Args:
        address: The first rank's fabric address.
        port: TCP port; 0 takes a free one.

    Raises:
        InputError: The address is not on this machine, or the port is in use.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
        listener.listen(socket.SOMAXCONN)
    except OSError as error:
        listener.close()
        raise InputError(
            f"{address}:{port} cannot be listened on ({error.strerror}): another run uses the port, or the "
            "fabric address is not up. Wait for the other run, or run ansible-playbook site.yml."
        ) from error
    return listener


def open_store(place: Placement, timeout_s: float, listener: socket.socket | None = None) -> TCPStore:
    """The store that all ranks share; returns when every rank is there.

    Args:
        place: This rank's place.
        timeout_s: How long to wait for the others.
        listener: On the first rank, the socket to use instead of a new one.

    Raises:
        InputError: The first rank cannot listen.
        FabricError: A rank is missing after the timeout; the message names it.
    """
    deadline = time.monotonic() + timeout_s
    if place.rank == 0:
        listener = listener or listen(place.address, place.master_port)
        port = listener.getsockname()[1]
        store = TCPStore(
            place.address,
            port,
            place.world_size,
            is_master=True,
            timeout=timedelta(seconds=timeout_s),
            wait_for_workers=False,
            master_listen_fd=listener.detach(),
        )
    else:
        store = _reach(place, deadline, timeout_s)
    exchange(store, place, "here", place.name, deadline - time.monotonic())
    return store


def exchange(store: Store, place: Placement, key: str, value: str, timeout_s: float) -> list[str]:
    """Gives every rank the values of all, in rank order.

    Args:
        store: Shared by the ranks.
        place: This rank's place.
        key: What is exchanged; used once a run.
        value: This rank's value.
        timeout_s: How long to wait for the others.

    Raises:
        FabricError: A rank did not give its value in time; the message names it.
    """
    deadline = time.monotonic() + timeout_s
    store.set(f"exchange/{key}/{place.rank}", value)
    missing = list(range(place.world_size))
    while missing:
        missing = [rank for rank in missing if not store.check([f"exchange/{key}/{rank}"])]
        if missing and time.monotonic() > deadline:
            names = ", ".join(f"rank {rank} ({place.names[rank]})" for rank in missing)
            raise FabricError(
                f"rank {place.rank} ({place.name}): waited {timeout_s:.0f} s in vain for {names}. Is the "
                f"same command running there, and does it reach {place.addresses[0]}?"
            )
        if missing:
            time.sleep(POLL_S)
    return [store.get(f"exchange/{key}/{rank}").decode() for rank in range(place.world_size)]


def _reach(place: Placement, deadline: float, timeout_s: float) -> TCPStore:
    host = place.addresses[0]
    while True:
        with (
            contextlib.suppress(OSError),
            socket.create_connection((host, place.master_port), timeout=ATTEMPT.total_seconds()),
        ):
            break
        if time.monotonic() > deadline:
            raise FabricError(
                f"rank {place.rank} ({place.name}): rank 0 ({place.names[0]}) does not answer at "
                f"{host}:{place.master_port} after {timeout_s:g} s. Is the same command running there, and "
                "does the fabric reach it?"
            )
        time.sleep(POLL_S)
    return TCPStore(
        host,
        place.master_port,
        place.world_size,
        is_master=False,
        timeout=timedelta(seconds=timeout_s),
        wait_for_workers=False,
    )


@contextlib.contextmanager
def process_group(
    place: Placement, store: Store, view: FabricView, roll_call: RollCall, backend: str, timeout_s: float
) -> Iterator[None]:
    """The world's process group for as long as the block runs.

    Args:
        place: This rank's place.
        store: From `open_store`.
        view: Names, addresses and cables of the ranks.
        roll_call: Asks the ranks after a failure.
        backend: `unified`, or a name that torch knows.
        timeout_s: After which a collective without answer is an error.

    Raises:
        FabricError: The ranks could not connect to one another.
    """
    register(view, roll_call)
    try:
        dist.init_process_group(
            backend,
            store=PrefixStore("group", store),
            rank=place.rank,
            world_size=place.world_size,
            timeout=timedelta(seconds=timeout_s),
        )
    except RuntimeError as error:
        raise FabricError(
            f"rank {place.rank} ({place.name}): the ranks reached the store on {place.names[0]}, but not one "
            f"another: {plain(str(error))}. Check the fabric: ansible-playbook playbooks/fabric.yml."
        ) from error
    try:
        yield
    except BaseException:
        # The others may be gone: end without a word to them.
        for group in list(dist.distributed_c10d._world.pg_map):
            with contextlib.suppress(RuntimeError):
                group.abort()
        raise
    dist.barrier()
    dist.destroy_process_group()


def same_everywhere(store: Store, place: Placement, what: str, value: str, fix: str, timeout_s: float) -> None:
    """Refuses to start when the ranks disagree.

    Args:
        store: From `open_store`.
        place: This rank's place.
        what: What is compared, for the message.
        value: This rank's value.
        fix: What to do about it.
        timeout_s: How long to wait for the others.

    Raises:
        FabricError: A rank did not answer in time.
        InputError: Another rank has another value; the message names who has what.
    """
    values = exchange(store, place, what, value, timeout_s)
    if len(set(values)) > 1:
        who = "; ".join(f"{name} has {value[:60]}" for name, value in zip(place.names, values, strict=True))
        raise InputError(f"{what} differs between ranks: {who}. {fix}")
