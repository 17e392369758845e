"""Numbers as people read them. A number that is not there is a dash."""

from __future__ import annotations

from training.bench.sizes import UNITS

NONE = "\N{EN DASH}"


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits and no exponent: 0.0123, 4.57, 1 230."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    magnitude = 0
    rest = abs(value)
    while rest >= 10:
        rest /= 10
        magnitude += 1
    while rest < 1:
        rest *= 10
        magnitude -= 1
    places = max(0, digits - 1 - magnitude)
    # A narrow space that does not break, as the SI brochure groups thousands.
    return f"{value:,.{places}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def percent(value: float | None, places: int = 0) -> str:
    """A share as a percentage."""
    return NONE if value is None else f"{value * 100:.{places}f}\N{NARROW NO-BREAK SPACE}%"


def duration(seconds: float | None) -> str:
    """A time with the unit that suits it, from microseconds to minutes."""
    if seconds is None:
        return NONE
    for limit, factor, unit in ((1e-3, 1e6, "\N{MICRO SIGN}s"), (1, 1e3, "ms"), (120, 1, "s")):
        if seconds < limit:
            return f"{significant(seconds * factor)} {unit}"
    return f"{int(seconds // 60)} min {int(seconds % 60)} s"


def size(count: int) -> str:
    """Bytes in the largest unit that leaves a whole number."""
    unit = max((name for name in UNITS if count % UNITS[name] == 0), key=lambda name: UNITS[name])
    return f"{count // UNITS[unit]} {unit}"


def spread(values: list[float], unit: str, digits: int = 3) -> str:
    """One number, or the lowest and highest of several."""
    if not values:
        return NONE
    low, high = significant(min(values), digits), significant(max(values), digits)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def plural(count: int, noun: str) -> str:
    """`1 cable`, `3 cables`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
