"""Models of Mac that the simulator knows.

Chip, cores and Thunderbolt ports are from Apple's technical specifications; the memory is one of the sizes
that the model is sold with.
"""

from __future__ import annotations

from typing import NamedTuple


class Model(NamedTuple):
    """What a model identifier stands for.

    Attributes:
        name: Name that Apple sells it under.
        chip: Name of the chip.
        performance_cores: Number of fast cores.
        efficiency_cores: Number of slow cores.
        memory_gib: Unified memory.
        thunderbolt_ports: Number of Thunderbolt ports.
        thunderbolt_generation: 4 or 5.
    """

    name: str
    chip: str
    performance_cores: int
    efficiency_cores: int
    memory_gib: int
    thunderbolt_ports: int
    thunderbolt_generation: int

    @property
    def cores(self) -> int:
        """All cores."""
        return self.performance_cores + self.efficiency_cores


MODELS = {
    "Macmini9,1": Model("Mac mini", "Apple M1", 4, 4, 16, 2, 4),
    "Mac14,3": Model("Mac mini", "Apple M2", 4, 4, 16, 2, 4),
    "Mac14,12": Model("Mac mini", "Apple M2 Pro", 8, 4, 32, 4, 4),
    "Mac16,10": Model("Mac mini", "Apple M4", 4, 6, 16, 3, 4),
    "Mac16,11": Model("Mac mini", "Apple M4 Pro", 10, 4, 64, 3, 5),
    "Mac14,13": Model("Mac Studio", "Apple M2 Max", 8, 4, 64, 4, 4),
    "Mac14,14": Model("Mac Studio", "Apple M2 Ultra", 16, 8, 192, 6, 4),
    "Mac16,9": Model("Mac Studio", "Apple M4 Max", 12, 4, 128, 4, 5),
    "Mac15,14": Model("Mac Studio", "Apple M3 Ultra", 24, 8, 256, 6, 5),
}


def find_model(identifier: str) -> Model:
    """Return a model; one that is not known behaves like a Mac mini with an M4 Pro."""
    return MODELS.get(identifier, MODELS["Mac16,11"])
