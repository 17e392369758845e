"""Sizes in bytes as people write them. Imports no torch."""

import re

from training.errors import InputError

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
DEFAULT_SIZES = "4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB"
_SIZE = re.compile(r"(\d+)\s*(B|KiB|MiB|GiB)")
FLOAT_BYTES = 4


def parse_sizes(text: str) -> list[int]:
    """The sizes in a list with commas.

    Raises:
        InputError: One of them is not a size, or not a whole number of float32.
    """
    sizes = []
    for item in text.split(","):
        match = _SIZE.fullmatch(item.strip())
        if not match:
            raise InputError(f"--sizes {text}: {item!r} is not a size. Write whole numbers such as 64KiB or 4MiB.")
        size = int(match[1]) * UNITS[match[2]]
        if size == 0 or size % FLOAT_BYTES:
            raise InputError(f"--sizes {text}: {item!r} is not a multiple of {FLOAT_BYTES} bytes (float32).")
        sizes.append(size)
    return sizes


def format_size(size: int) -> str:
    """A size with the largest unit that leaves a whole number."""
    unit = max((name for name in UNITS if size % UNITS[name] == 0), key=lambda name: UNITS[name])
    return f"{size // UNITS[unit]}{unit}"
