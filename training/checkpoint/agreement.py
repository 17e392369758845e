"""What ranks tell one another about checkpoints: small Python objects, on the calling thread only.

No thread in the background ever starts a collective: on a Mac a second thread that touches an MPS tensor ends
the process (pytorch issue 197805), and a collective of two threads may pair up wrongly between ranks.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch.distributed as dist

T = TypeVar("T")


def rank_and_size(group: dist.ProcessGroup | None) -> tuple[int, int]:
    """This rank and the number of ranks; (0, 1) without a group."""
    if group is None:
        return 0, 1
    return dist.get_rank(group), dist.get_world_size(group)


def everyone(group: dist.ProcessGroup | None, value: T) -> list[T]:
    """The values of all ranks, in rank order.

    Raises:
        RuntimeError: A rank did not answer.
    """
    if group is None:
        return [value]
    values: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(values, value, group=group)
    return values


def from_first_rank(group: dist.ProcessGroup | None, value: T) -> T:
    """The first rank's value.

    Raises:
        RuntimeError: A rank did not answer.
    """
    if group is None:
        return value
    values: list[Any] = [value]
    dist.broadcast_object_list(values, group=group, group_src=0)
    answer: T = values[0]
    return answer
