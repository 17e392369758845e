"""The state of a run at a step border, copied to host memory, so that training may go on changing it.

DCP's planner decides which rank writes what: of a tensor that several ranks hold, one writes it. Only what
this rank writes is copied, into buffers that are kept for the next save.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex
from torch.distributed.checkpoint.planner import SavePlan, WriteItem, WriteItemType
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.optim import Optimizer

from training.checkpoint import rng
from training.checkpoint.agreement import everyone, from_first_rank, rank_and_size
from training.checkpoint.fingerprint import table
from training.checkpoint.parts import Part, collect


class SnapshotError(RuntimeError):
    """A rank could not take its snapshot; raised on every rank, with the name of the one at fault."""


class HostPlanner(DefaultSavePlanner):
    """DCP's planner, reading from copies in host memory instead of from the model."""

    def __init__(self, buffers: dict[MetadataIndex, Tensor]) -> None:
        """Takes the buffers of earlier saves.

        Args:
            buffers: Host tensors by what they are a copy of; extended here.
        """
        super().__init__()
        self._buffers = buffers
        self._objects: dict[MetadataIndex, bytes] = {}

    def copy(self) -> int:
        """Copies what this rank writes to the host; the bytes copied. On the calling thread."""
        copied = 0
        for item in self.plan.items:
            value = self.lookup_object(item.index)
            if item.type == WriteItemType.BYTE_IO:
                stream = io.BytesIO()
                torch.save(value, stream)
                self._objects[item.index] = stream.getvalue()
                copied += stream.tell()
                continue
            # A strided copy from MPS has been wrong (pytorch issue 189961), and so have non-blocking ones.
            source = value.detach().contiguous()
            buffer = self._buffers.get(item.index)
            if buffer is None or buffer.shape != source.shape or buffer.dtype != source.dtype:
                buffer = self._buffers[item.index] = torch.empty_like(source, device="cpu")
            buffer.copy_(source)
            copied += buffer.nbytes
        return copied

    def forget(self) -> None:
        """Lets go of the model, so that a thread which writes keeps no device memory alive."""
        self.state_dict = {}

    def resolve_data(self, write_item: WriteItem) -> Tensor | io.BytesIO:
        """What to write for an item; called by DCP's writer, from whichever thread."""
        if write_item.type == WriteItemType.BYTE_IO:
            return io.BytesIO(self._objects[write_item.index])
        return self._buffers[write_item.index]


@dataclass(frozen=True)
class Snapshot:
    """All that a rank needs to write its part; nothing in it belongs to the device.

    Attributes:
        step: Steps done.
        save_id: The same on all ranks.
        rank: This rank.
        world_size: Ranks.
        planner: Holds the copies.
        plan: What this rank writes.
        metadata: What all ranks write; the same on all.
        rank_state: Random numbers and parts of this rank.
        tensors: The model's table.
        optimizers: Class names.
        nbytes: Bytes copied.
        stall_s: Seconds that the copy held up the calling thread, planning included.
    """

    step: int
    save_id: str
    rank: int
    world_size: int
    planner: HostPlanner
    plan: SavePlan
    metadata: Metadata
    rank_state: Mapping[str, Any]
    tensors: Mapping[str, str]
    optimizers: tuple[str, ...]
    nbytes: int
    stall_s: float


class Snapshotter:
    """Takes snapshots of one run; keeps the plan and the host buffers between them."""

    def __init__(self, group: ProcessGroup | None) -> None:
        """Takes no snapshot yet.

        Args:
            group: The ranks, None for one process.
        """
        self._group = group
        self._buffers: dict[MetadataIndex, Tensor] = {}
        self._digests: list[str] = []
        self._planned: tuple[list[SavePlan], Metadata] | None = None

    def take(
        self,
        step: int,
        save_id: str,
        model: nn.Module,
        optimizers: Sequence[Optimizer],
        parts: Mapping[str, Part],
    ) -> Snapshot:
        """Copies the state of this rank. Every rank must call it at the same step border.

        Args:
            step: Steps done.
            save_id: The same on all ranks.
            model: As it trains: bare, DDP or FSDP2.
            optimizers: In an order that stays.
            parts: Whatever else has a state.

        Raises:
            SnapshotError: A rank could not; the message names it and why.
        """
        begin = time.perf_counter()
        rank, world_size = rank_and_size(self._group)
        planner = HostPlanner(self._buffers)
        problem, digest, local = None, "", SavePlan([])
        model_state: Mapping[str, Any] = {}
        rank_state: dict[str, Any] = {}
        try:
            model_state, optimizer_state = get_state_dict(model, list(optimizers))
            planner.set_up_planner({"model": dict(model_state), "optimizer": optimizer_state}, is_coordinator=rank == 0)
            local = planner.create_local_plan()
            digest = hashlib.sha256(repr((local.items, local.planner_data)).encode()).hexdigest()
            rank_state = {"step": step, "rng": rng.capture(), "parts": collect(parts)}
        except Exception as error:  # Whatever it is, the other ranks wait for a word.
            problem = f"rank {rank}: {error}"
        answers = everyone(self._group, (problem, digest))
        problems = [answer[0] for answer in answers if answer[0]]
        if problems:
            raise SnapshotError(f"the checkpoint of step {step} cannot be taken: {'; '.join(problems)}")
        plans, metadata = self._agree(planner, local, [answer[1] for answer in answers], rank)
        plan = planner.finish_plan(plans[rank])
        nbytes = planner.copy()
        planner.forget()
        return Snapshot(
            step=step,
            save_id=save_id,
            rank=rank,
            world_size=world_size,
            planner=planner,
            plan=plan,
            metadata=metadata,
            rank_state=rank_state,
            tensors=table(model_state),
            optimizers=tuple(type(optimizer).__name__ for optimizer in optimizers),
            nbytes=nbytes,
            stall_s=time.perf_counter() - begin,
        )

    def _agree(
        self, planner: HostPlanner, local: SavePlan, digests: list[str], rank: int
    ) -> tuple[list[SavePlan], Metadata]:
        """The plans of all ranks. All see the same digests, so all reuse the last plan or none does."""
        if self._planned is None or digests != self._digests:
            every = everyone(self._group, local)
            # One rank decides: the planner's choice may depend on the order of a set of strings.
            decided = None
            if rank == 0:
                plans, metadata = planner.create_global_plan(every)
                # The path does not matter here: only the names of the files are given out.
                decided = (FileSystemWriter(".").prepare_global_plan(plans), metadata)
            agreed = from_first_rank(self._group, decided)
            if agreed is None:
                raise RuntimeError("the first rank sent no plan for the checkpoint")
            self._planned, self._digests = agreed, digests
        return self._planned
