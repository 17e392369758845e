"""How long to train between two checkpoints."""

import math
from dataclasses import dataclass

DEFAULT_INTERVAL_S = 15 * 60.0


@dataclass(frozen=True)
class Interval:
    """A chosen interval.

    Attributes:
        seconds: From the start of one checkpoint to that of the next.
        reason: Why, for the log.
    """

    seconds: float
    reason: str


def young_s(cost_s: float, mtbf_s: float) -> float:
    """The interval of least lost time, to first order: sqrt(2 * cost * mtbf).

    Source: J. W. Young, "A first order approximation to the optimum checkpoint interval", Communications of
    the ACM 17 (9), 1974, pages 530 to 531.

    Args:
        cost_s: Seconds that training loses by one checkpoint.
        mtbf_s: Mean time between failures of the whole rack, in seconds.

    Raises:
        ValueError: A value is not a positive number.
    """
    _check(cost_s, mtbf_s)
    return math.sqrt(2 * cost_s * mtbf_s)


def daly_s(cost_s: float, mtbf_s: float) -> float:
    """The same to higher order, right also when a checkpoint is not short against the time to a failure.

    Source: J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
    Generation Computer Systems 22 (3), 2006, pages 303 to 312, equation 37: with x = cost / (2 * mtbf),
    sqrt(2 * cost * mtbf) * (1 + sqrt(x) / 3 + x / 9) - cost for x < 1, and mtbf otherwise.

    Args:
        cost_s: Seconds that training loses by one checkpoint.
        mtbf_s: Mean time between failures of the whole rack, in seconds.

    Raises:
        ValueError: A value is not a positive number.
    """
    _check(cost_s, mtbf_s)
    ratio = cost_s / (2 * mtbf_s)
    if ratio >= 1:
        return mtbf_s
    return young_s(cost_s, mtbf_s) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - cost_s


def choose(wanted_s: float | None, *, stall_s: float | None, write_s: float | None, mtbf_s: float | None) -> Interval:
    """The interval to use.

    An asynchronous save costs training its stall only, so that is the cost of the formula; but two saves do
    not overlap, so the interval is never shorter than twice the time that a save takes to be committed.

    Args:
        wanted_s: Seconds asked for; None: the optimum, as soon as it can be computed.
        stall_s: Measured seconds that the last save held up training, None before the first.
        write_s: Measured seconds until the last save was committed, None before the first.
        mtbf_s: Mean time between failures of the whole rack, in seconds, None when unknown.

    Raises:
        ValueError: A value is not a positive number.
    """
    if wanted_s is not None:
        _check(wanted_s, wanted_s)
        seconds, reason = wanted_s, f"every {wanted_s:g} s, as configured"
    elif stall_s is None or mtbf_s is None:
        missing = "no save was measured yet" if stall_s is None else "the time between failures is unknown"
        seconds, reason = DEFAULT_INTERVAL_S, f"every {DEFAULT_INTERVAL_S:g} s, because {missing}"
    else:
        seconds = daly_s(stall_s, mtbf_s)
        reason = (
            f"every {seconds:.0f} s, the optimum (Daly) for a stall of {stall_s:.3g} s and a failure every "
            f"{mtbf_s:.0f} s"
        )
    if write_s is not None and seconds < 2 * write_s:
        return Interval(2 * write_s, f"every {2 * write_s:.0f} s, because a save takes {write_s:.1f} s to be committed")
    return Interval(seconds, reason)


def _check(cost_s: float, mtbf_s: float) -> None:
    for name, value in (("cost", cost_s), ("time between failures", mtbf_s)):
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"the {name} is {value} s, but must be a positive number")
