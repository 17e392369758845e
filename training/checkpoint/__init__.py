"""Checkpoints: saved while training goes on, checked when loaded, exact when resumed.

`Checkpointer` saves, `load_newest` resumes, `Pacer` says when a save is due. They take torch's own objects
and a process group, and know nothing of jobs or of the training loop.
"""

from training.checkpoint.interval import Interval, choose
from training.checkpoint.loader import Restored, load_newest
from training.checkpoint.pacer import Pacer
from training.checkpoint.parts import Part, ReshardingPart
from training.checkpoint.snapshot import SnapshotError
from training.checkpoint.writer import Checkpointer, Committed, Event, Failed, NotStarted, Started

__all__ = [
    "Checkpointer",
    "Committed",
    "Event",
    "Failed",
    "Interval",
    "NotStarted",
    "Pacer",
    "Part",
    "ReshardingPart",
    "Restored",
    "SnapshotError",
    "Started",
    "choose",
    "load_newest",
]
