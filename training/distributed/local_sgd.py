"""Local steps with an occasional meeting, for links that are too slow for one all-reduce a step (DiLoCo).

Each rank trains on its own for some steps. Then the mean of how far the ranks have moved is taken as a gradient of
an outer optimiser, SGD with Nesterov momentum, which moves the point where all of them meet; and all go on from there.
The scheme and the outer constants are those of DiLoCo (arXiv 2311.08105).
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

INNER_STEPS = 50
OUTER_LR = 0.7
OUTER_MOMENTUM = 0.9


class LocalSgd:
    """The outer loop over the parameters of a model that every rank trains on its own."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        inner_steps: int = INNER_STEPS,
        outer_lr: float = OUTER_LR,
        outer_momentum: float = OUTER_MOMENTUM,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        """Takes the parameters of the first rank as the first meeting point.

        Args:
            parameters: Of the model, not wrapped in anything that communicates.
            inner_steps: Steps between two meetings.
            outer_lr: Of the outer optimiser; 1 with momentum 0 is plain averaging of the parameters.
            outer_momentum: Of the outer optimiser, Nesterov's form.
            group: The ranks; the world when None.
        """
        self._parameters = list(parameters)
        self._inner_steps, self._group = inner_steps, group
        self._steps = 0
        with torch.no_grad():
            flat = self._flat()
            dist.broadcast(flat, src=dist.get_global_rank(group, 0) if group else 0, group=group)
            self._scatter(flat)
        self._meeting = nn.Parameter(flat.clone())
        self._outer = torch.optim.SGD(
            [self._meeting], lr=outer_lr, momentum=outer_momentum, nesterov=outer_momentum > 0
        )

    def step(self) -> bool:
        """Call it after each step of the inner optimiser.

        Returns:
            Whether the ranks met, and so have the same parameters now.
        """
        self._steps += 1
        if self._steps % self._inner_steps:
            return False
        self.meet()
        return True

    @torch.no_grad()
    def meet(self) -> None:
        """Averages how far the ranks have moved, takes an outer step, and goes on from there."""
        # One flat buffer: one message, and one copy where the device needs staging.
        moved = self._meeting - self._flat()
        dist.all_reduce(moved, group=self._group)
        self._meeting.grad = moved / dist.get_world_size(self._group)
        self._outer.step()
        self._scatter(self._meeting)

    def state_dict(self) -> dict[str, object]:
        """What a checkpoint must keep beside the model and the inner optimiser."""
        return {"steps": self._steps, "meeting": self._meeting.detach(), "outer": self._outer.state_dict()}

    def load_state_dict(self, state: dict[str, object]) -> None:
        """Goes on from a state of `state_dict`."""
        steps, meeting, outer = state["steps"], state["meeting"], state["outer"]
        if not isinstance(steps, int) or not isinstance(meeting, Tensor) or not isinstance(outer, dict):
            raise TypeError("the state of LocalSgd must have steps, meeting and outer")
        self._steps = steps
        with torch.no_grad():
            self._meeting.copy_(meeting)
        self._outer.load_state_dict(outer)

    def _flat(self) -> Tensor:
        return torch.cat([parameter.detach().reshape(-1) for parameter in self._parameters])

    def _scatter(self, flat: Tensor) -> None:
        parts = torch.split(flat, [parameter.numel() for parameter in self._parameters])
        for parameter, part in zip(self._parameters, parts, strict=True):
            parameter.copy_(part.view_as(parameter))
