"""When the next checkpoint is due, so that all ranks agree although their clocks do not.

Asking all ranks at every step would cost a round trip a step. So the first rank's clock is asked only at
some steps, fixed in advance on all ranks: each time after half of the steps that are left by the pace so
far. An interval of 15 minutes takes about ten such questions, and a change of pace is noticed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from torch.distributed import ProcessGroup

from training.checkpoint.agreement import from_first_rank


def next_question(step: int, elapsed_s: float, steps_done: int, interval_s: float) -> int | None:
    """The step at which to ask again, None when a checkpoint is due now.

    Args:
        step: Steps done in all.
        elapsed_s: Seconds since the last checkpoint.
        steps_done: Steps since the last checkpoint.
        interval_s: Seconds between two checkpoints.
    """
    left_s = interval_s - elapsed_s
    if left_s <= 0:
        return None
    if elapsed_s <= 0 or steps_done <= 0:
        return step + 1
    steps_left = left_s * steps_done / elapsed_s
    return step + max(1, math.ceil(steps_left / 2))


class Pacer:
    """Says at which step border to save. Call `due` after every step on every rank."""

    def __init__(
        self,
        step: int,
        interval_s: float,
        group: ProcessGroup | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Starts the first interval.

        Args:
            step: Steps done so far.
            interval_s: Seconds between two checkpoints; only the first rank's value counts.
            group: The ranks, None for one process.
            clock: Seconds; replaced in tests.
        """
        self._group, self._clock = group, clock
        self.interval_s = interval_s
        self.restart(step)

    def restart(self, step: int) -> None:
        """Begins an interval: a checkpoint was just taken."""
        self._begin_step, self._begin_s = step, self._clock()
        self._ask_at = step + 1

    def due(self, step: int) -> bool:
        """Whether to save now. A collective at few steps, nothing but a comparison at the others.

        Args:
            step: Steps done, the same on all ranks.
        """
        if step < self._ask_at:
            return False
        question = next_question(step, self._clock() - self._begin_s, step - self._begin_step, self.interval_s)
        answer = from_first_rank(self._group, question)
        if answer is None:
            return True
        self._ask_at = answer
        return False
