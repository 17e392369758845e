"""How a tensor's bytes reach gloo, which reads and writes host memory alone.

Four ways, chosen by where the tensor lives:

- direct: the tensor is in host memory already;
- alias: Apple silicon's unified memory lets the host see the GPU's own bytes (torch 2.13 and later), so
  nothing is copied, but the GPU must have finished writing them, which an event tells;
- streamed: CUDA copies the bytes to the host and back on a stream of its own (`cuda_copies`);
- staged: the bytes are copied to the host on the calling thread, and back on the thread that waits.

Two threads that issue MPS operations crash the process (pytorch issue 197805), so nothing in this file
touches a device tensor from any thread but the caller's; the event is only asked whether it has passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import torch

# An event is polled, because nothing says that its binding releases the interpreter lock while it blocks.
POLL_S = 20e-6
POLL_LONGEST_S = 500e-6
# Sixteen buckets of 25 MiB, more than are ever in flight.
MOST_IDLE_BYTES = 400 << 20


class Way(Enum):
    """How a tensor's bytes reach gloo."""

    DIRECT = "direct"
    ALIAS = "alias"
    STREAMED = "streamed"
    STAGED = "staged"


class ReadyEvent(Protocol):
    """What says that the device has finished everything queued before it."""

    def query(self) -> bool:
        """Whether it has passed; never blocks and issues nothing to the device."""


@dataclass(frozen=True)
class HostMemory:
    """The ways of one process, replaceable in tests.

    Attributes:
        way: Chooses the way for a tensor.
        view: For the alias: a CPU tensor over the same bytes, with the same shape, strides and dtype.
        record: For the alias: an event after all work queued so far, recorded on the calling thread.
    """

    way: Callable[[torch.Tensor], Way]
    view: Callable[[torch.Tensor], torch.Tensor]
    record: Callable[[], ReadyEvent]

    def stage(self, tensor: torch.Tensor, *, copy: bool) -> torch.Tensor:
        """A host buffer of the tensor's shape; with `copy`, its content. Only on the caller's own thread.

        The copy blocks: `non_blocking` ones from and to MPS have corrupted data (pytorch issues 139550 and
        189690).
        """
        buffer = BUFFERS.take(tensor)
        if copy:
            buffer.copy_(tensor)
        return buffer

    def unstage(self, buffer: torch.Tensor) -> None:
        """Gives a buffer of `stage` back. It must not be used afterwards."""
        BUFFERS.give(buffer)


class StagingBuffers:
    """Host buffers that are used again: training sends tensors of the same few sizes over and over.

    Fresh memory would cost a page fault for every 4 or 16 KiB, more than the copy itself. For CUDA the buffers are
    page-locked, which doubles the speed of a copy; for MPS that has no benefit (pytorch issue 181720).
    """

    def __init__(self, most_bytes: int) -> None:
        """Keeps at most `most_bytes` of idle buffers."""
        self._most_bytes, self._idle_bytes = most_bytes, 0
        self._idle: dict[tuple[torch.Size, torch.dtype, bool], list[torch.Tensor]] = {}
        self._lock = threading.Lock()

    def take(self, tensor: torch.Tensor) -> torch.Tensor:
        """An idle or new buffer with the shape and dtype of the tensor; its content is undefined."""
        pinned = tensor.device.type == "cuda"
        with self._lock:
            idle = self._idle.get((tensor.shape, tensor.dtype, pinned))
            if idle:
                buffer = idle.pop()
                self._idle_bytes -= buffer.nbytes
                return buffer
        return torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu", pin_memory=pinned)

    def give(self, buffer: torch.Tensor) -> None:
        """Keeps a buffer for later, or drops it when enough are idle."""
        with self._lock:
            if self._idle_bytes + buffer.nbytes <= self._most_bytes:
                self._idle_bytes += buffer.nbytes
                key = (buffer.shape, buffer.dtype, buffer.is_pinned() if torch.cuda.is_available() else False)
                self._idle.setdefault(key, []).append(buffer)


BUFFERS = StagingBuffers(MOST_IDLE_BYTES)


def wait_for(event: ReadyEvent) -> None:
    """Blocks the calling thread until the device has passed the event."""
    pause = POLL_S
    while not event.query():
        time.sleep(pause)
        pause = min(pause * 2, POLL_LONGEST_S)


def has_host_alias() -> bool:
    """Whether this torch can show the bytes of an MPS tensor to the host (private, from 2.13 on)."""
    return hasattr(torch.mps, "_host_alias_storage") and torch.backends.mps.is_available()


def _default_way(tensor: torch.Tensor) -> Way:
    if tensor.device.type == "cpu":
        return Way.DIRECT
    if tensor.device.type == "mps" and has_host_alias() and tensor.is_contiguous():
        return Way.ALIAS
    return Way.STREAMED if tensor.device.type == "cuda" else Way.STAGED


def _mps_view(tensor: torch.Tensor) -> torch.Tensor:
    storage = torch.mps._host_alias_storage(tensor.untyped_storage())
    empty = torch.empty(0, dtype=tensor.dtype)
    return empty.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())


def _mps_record() -> ReadyEvent:
    event = torch.mps.Event()
    event.record()
    return event


DEFAULT = HostMemory(way=_default_way, view=_mps_view, record=_mps_record)
