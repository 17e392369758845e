"""The learning rate by step."""

import math

from training.schema import ScheduleOptions


def learning_rate(options: ScheduleOptions, highest: float, step: int, steps: int) -> float:
    """The learning rate of a step: linear warm-up, then half a cosine.

    Args:
        options: The shape.
        highest: The learning rate after the warm-up.
        step: From 0.
        steps: Of the whole run.
    """
    if step < options.warmup_steps:
        return highest * (step + 1) / options.warmup_steps
    rest = max(1, steps - options.warmup_steps)
    progress = (step - options.warmup_steps) / rest
    fraction = options.final_fraction + (1 - options.final_fraction) * 0.5 * (1 + math.cos(math.pi * progress))
    return highest * fraction
