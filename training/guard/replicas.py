"""Compares what all ranks must hold alike, and says which rank differs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

DIGEST_BYTES = 32


@dataclass(frozen=True)
class Replicas:
    """What was compared; the same on all ranks.

    Attributes:
        names: Of the ranks.
        digests: SHA-256 of each rank's parameters and buffers.
        first: The first tensor that differs, None when none does.
    """

    names: tuple[str, ...]
    digests: tuple[str, ...]
    first: str | None = None

    @property
    def ok(self) -> bool:
        """Whether all ranks hold the same."""
        return len(set(self.digests)) == 1

    @property
    def odd(self) -> list[str]:
        """The ranks unlike the majority; empty when there is no majority, as between two ranks."""
        counts = {digest: self.digests.count(digest) for digest in self.digests}
        common = max(counts, key=lambda digest: counts[digest])
        if self.ok or counts[common] * 2 <= len(self.digests):
            return []
        return [name for name, digest in zip(self.names, self.digests, strict=True) if digest != common]

    @property
    def sentence(self) -> str:
        """Who differs, and in what."""
        if self.ok:
            return f"The {len(self.names)} replicas are identical."
        if self.odd:
            who = f"{', '.join(self.odd)} is not like the others"
        else:
            who = f"{', '.join(self.names)} hold different values, and no majority says who is right"
        return (
            f"The replicas differ: {who}; the first tensor that differs is {self.first}. Go back to the last "
            "checkpoint before this step, and run again with --set device=cpu to see whether a device is at "
            "fault."
        )


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of names, dtypes, shapes and bytes."""
    digest = hashlib.sha256()
    for name, tensor in tensors.items():
        digest.update(f"{name}:{tensor.dtype}:{list(tensor.shape)}".encode())
        digest.update(bytes_of(tensor))
    return digest.hexdigest()


def bytes_of(tensor: Tensor) -> Any:
    """The bytes of a tensor, on the host; bit patterns, so that -0.0 is not 0.0 and NaN equals itself."""
    host = tensor.detach().contiguous().cpu()
    return host.reshape(-1).view(torch.uint8).numpy() if host.numel() else b""


def compare_replicas(model: nn.Module, group: dist.ProcessGroup | None, names: Sequence[str] = ()) -> Replicas:
    """Compares parameters and buffers of all ranks of a group. A collective.

    Args:
        model: Bare or DDP. With FSDP2 the shards of a rank are compared, so the group must be that of the
            ranks that hold the same shard (`mesh["replicate"].get_group()` of an HSDP mesh).
        group: The ranks that must hold the same; None for one process.
        names: Of the ranks, such as their nodes; numbers when empty.
    """
    tensors = {
        name.removeprefix("module."): value.to_local() if isinstance(value, DTensor) else value
        for name, value in (*model.named_parameters(), *model.named_buffers())
    }
    own = digest_of(tensors)
    if group is None:
        return Replicas(tuple(names) or ("0",), (own,))
    size = dist.get_world_size(group)
    called = tuple(names) or tuple(f"rank {rank}" for rank in range(size))
    gathered = [torch.empty(DIGEST_BYTES, dtype=torch.uint8) for _ in range(size)]
    dist.all_gather(gathered, torch.tensor(list(bytes.fromhex(own)), dtype=torch.uint8), group=group)
    digests = tuple(bytes(item.tolist()).hex() for item in gathered)
    if len(set(digests)) == 1:
        return Replicas(called, digests)
    # Only now is it worth asking about each tensor; every rank sees the same digests, so all come here.
    each: list[Any] = [None] * size
    dist.all_gather_object(each, {name: digest_of({name: tensor}) for name, tensor in tensors.items()}, group=group)
    first = next((name for name in each[0] if len({ranks.get(name) for ranks in each}) > 1), "one that a rank lacks")
    return Replicas(called, digests, first)
