"""Pipeline parallelism: consecutive blocks on consecutive ranks, with a batch cut into micro-batches between them.

1F1B lets each stage alternate between forward and backward, so that it keeps the activations of few micro-batches;
the interleaved form gives each rank several smaller stages and so shortens the time in which stages wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
from torch.distributed.pipelining.stage import _PipelineStageBase

from training.data.sharding import share
from training.models.gpt import Gpt


class GptStage(nn.Module):
    """Some consecutive blocks of a `Gpt`, with the embedding in the first stage and the head in the last.

    The modules keep the names that they have in the whole model, so that their parameters do too.
    """

    def __init__(self, model: Gpt, stage: int, stages: int) -> None:
        super().__init__()
        part = share(len(model.blocks), stage, stages)
        self.blocks = nn.ModuleDict({str(index): model.blocks[index] for index in range(part.start, part.stop)})
        self.first, self.last = stage == 0, stage == stages - 1
        if self.first:
            self.tokens, self.positions = model.tokens, model.positions
        if self.last:
            self.norm, self.head = model.norm, model.head

    def forward(self, x: Tensor) -> Tensor:
        """Tokens (batch, tokens) or hidden states (batch, tokens, dim) to hidden states, or scores in the end."""
        if self.first:
            x = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks.values():
            x = block(x)
        if self.last:
            x = self.head(self.norm(x))
        return x


@dataclass(frozen=True)
class Pipeline:
    """This rank's part of a pipeline.

    Attributes:
        parts: Its stages, one for 1F1B, several when interleaved.
        schedule: torch's schedule over them.
        first: Whether it takes the inputs.
        last: Whether it takes the targets and knows the loss.
    """

    parts: list[GptStage]
    schedule: Any
    first: bool
    last: bool

    def step(self, inputs: Tensor, targets: Tensor) -> list[Tensor]:
        """Forward and backward of one batch, whose samples the micro-batches must divide.

        Returns:
            The losses of the micro-batches on the last rank, nothing elsewhere.
        """
        losses: list[Tensor] = []
        arguments = (inputs,) if self.first else ()
        if self.last:
            self.schedule.step(*arguments, target=targets, losses=losses)
        else:
            self.schedule.step(*arguments)
        return losses


def build_pipeline(
    model: Gpt,
    mesh: DeviceMesh,
    device: torch.device,
    loss: Callable[[Tensor, Tensor], Tensor],
    micro_batches: int,
    stages_a_rank: int = 1,
) -> Pipeline:
    """Cuts the model into stages and keeps those of this rank.

    Args:
        model: The whole model, the same on every rank.
        mesh: From `ParallelDims.mesh`; its pipeline axis is used.
        device: Where the stages compute.
        loss: Of one micro-batch, such that the sum over micro-batches is the loss of the batch.
        micro_batches: Parts of a batch; at least as many as there are ranks on the axis to keep all of them busy.
        stages_a_rank: 1 for 1F1B; more for the interleaved form.
    """
    axis = mesh["pipeline"]
    rank, ranks = axis.get_local_rank(), axis.size()
    count = ranks * stages_a_rank
    numbers = range(rank, count, ranks)
    parts = [GptStage(model, number, count).to(device) for number in numbers]
    stages: list[_PipelineStageBase] = [
        PipelineStage(part, number, count, device, group=axis.get_group())
        for part, number in zip(parts, numbers, strict=True)
    ]
    # The loss is a sum already, so torch must not divide the gradients by the number of micro-batches.
    schedule: Any
    if stages_a_rank == 1:
        schedule = Schedule1F1B(stages[0], micro_batches, loss_fn=loss, scale_grads=False)
    else:
        schedule = ScheduleInterleaved1F1B(stages, micro_batches, loss_fn=loss, scale_grads=False)
    return Pipeline(parts, schedule, first=rank == 0, last=rank == ranks - 1)
