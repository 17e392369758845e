"""Bandwidth as a colour and a width: fixed steps, so that two reports can be compared by eye. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from training.report.model import CableRow


@dataclass(frozen=True)
class Step:
    """One step of the scale; the colours are in templates/rack.css under `.rk-<name>`."""

    name: str
    least_gbit_s: float
    width: float
    label: str


# Thunderbolt 3 and 4 carry about 20 Gbit/s of IP, Thunderbolt 5 more; 10 is what a 10 GbE port would give.
STEPS = (
    Step("s1", 0, 3, "< 5"),
    Step("s2", 5, 4, "5\N{EN DASH}10"),
    Step("s3", 10, 5, "10\N{EN DASH}20"),
    Step("s4", 20, 6, "20\N{EN DASH}40"),
    Step("s5", 40, 7, "\N{GREATER-THAN OR EQUAL TO} 40"),
)


def slower_gbit_s(cable: CableRow) -> float | None:
    """The slower direction: what a ring gets out of the cable."""
    rates = [rate for rate in (cable["gbit_s_ab"], cable["gbit_s_ba"]) if rate is not None]
    return min(rates) if len(rates) == 2 else None


def step(cable: CableRow) -> Step | None:
    """The step of a cable, or None where it failed."""
    rate = slower_gbit_s(cable)
    if cable["error"] or rate is None:
        return None
    return next(step for step in reversed(STEPS) if rate >= step.least_gbit_s)
