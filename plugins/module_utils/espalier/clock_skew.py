"""How far a machine's clock is from ours, from what it said when it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """One question: our clock before and after, and the machine's answer; seconds since 1970."""

    before_s: float
    answer_s: float
    after_s: float


@dataclass(frozen=True)
class Skew:
    """The machine's clock minus ours, right to within ``within_s`` on either side; seconds."""

    skew_s: float
    within_s: float

    def exceeds(self, most_s: float) -> bool:
        """Whether the clocks are certainly further apart than ``most_s``."""
        return abs(self.skew_s) - self.within_s > most_s


def clock_skew(asked: Sequence[Asked]) -> Skew:
    """The skew by the quickest of several questions.

    The machine read its clock somewhere between the question and the answer; the middle is wrong by half of
    the round trip at most.

    Raises:
        ValueError: nothing was asked.
    """
    if not asked:
        raise ValueError("The skew of a clock needs one answer at least.")
    best = min(asked, key=lambda one: one.after_s - one.before_s)
    middle_s = (best.before_s + best.after_s) / 2
    return Skew(best.answer_s - middle_s, max(best.after_s - best.before_s, 0.0) / 2)
