"""Copies between CUDA tensors and page-locked host buffers, on two streams of their own, one for each direction.

On a shared one, the copy back of a bucket would wait for the backward pass to fill the next one. The computing
stream goes on meanwhile, so a collective overlaps with the backward pass. CUDA calls may come from any thread,
unlike MPS ones (see `host_memory`); the thread that finishes a collective copies the result back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor


class CudaCopies:
    """The copies of one collective."""

    def __init__(self, device: torch.device) -> None:
        """Prepare for tensors of this device."""
        self._device = device
        self._out, self._back = _streams(device)

    def to_host(self, tensors: Sequence[Tensor], buffers: Mapping[int, Tensor], reads: Collection[int]) -> Any:
        """Start copying to the host; returns an event that passes when the buffers hold the values.

        Args:
            tensors: All tensors of the collective that live on the device.
            buffers: The host buffer of each, by id.
            reads: Ids of those whose content is needed; the others only must not be written before they are free.
        """
        self._out.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._out):
            for tensor in tensors:
                # The allocator must not hand the memory out again before these streams are done with it.
                tensor.record_stream(self._out)
                tensor.record_stream(self._back)
                if id(tensor) in reads:
                    buffers[id(tensor)].copy_(tensor, non_blocking=True)
            return self._out.record_event()

    def to_device(self, tensors: Sequence[Tensor], buffers: Mapping[int, Tensor]) -> None:
        """Copy results back and return when they are there, so that any stream may use them."""
        with torch.cuda.stream(self._back):
            for tensor in tensors:
                tensor.copy_(buffers[id(tensor)], non_blocking=True)
        self._back.synchronize()


_STREAMS: dict[torch.device, tuple[Any, Any]] = {}


def _streams(device: torch.device) -> tuple[Any, Any]:
    """The streams out of a device and back to it, the same for all collectives of the process."""
    if device not in _STREAMS:
        _STREAMS[device] = (
            torch.cuda.Stream(device),  # type: ignore[no-untyped-call]
            torch.cuda.Stream(device),  # type: ignore[no-untyped-call]
        )
    return _STREAMS[device]
