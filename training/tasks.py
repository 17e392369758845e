"""What a rank is asked to do, as plain values that travel to a new process without loading torch."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from training.placement import Placement
from training.schema import DistributedOptions, JobConfig


class Task(Protocol):
    """Work for one rank."""

    def run(self, place: Placement, listener: socket.socket | None = None) -> int:
        """Does it on the rank at `place`; `listener` is the store's socket on the first rank, if open.

        Returns:
            The exit status.
        """


@dataclass(frozen=True)
class TrainTask:
    """One training run.

    Attributes:
        config: The job.
        output: Where its files go.
    """

    config: JobConfig
    output: Path

    def run(self, place: Placement, listener: socket.socket | None = None) -> int:
        """Trains on this rank; the exit status."""
        from training.loop import Trainer
        from training.session import Session, run_rank

        def work(session: Session) -> None:
            Trainer(self.config, session, self.output).run()

        return run_rank(place, self.config.distributed, work, listener)


@dataclass(frozen=True)
class BenchTask:
    """One benchmark of the all-reduce.

    Attributes:
        sizes: Bytes of each all-reduce.
        output: Where `allreduce.json` goes.
        device: `auto`, `mps`, `cuda` or `cpu`.
        seconds_a_size: How long to repeat each; the iterations follow from a first measurement.
        options: Backend and timeouts.
    """

    sizes: tuple[int, ...]
    output: Path
    device: str = "auto"
    seconds_a_size: float = 0.4
    options: DistributedOptions = field(default_factory=DistributedOptions)

    def run(self, place: Placement, listener: socket.socket | None = None) -> int:
        """Measures on this rank; the exit status."""
        from training.bench.allreduce import bench_allreduce
        from training.session import Session, run_rank

        def work(session: Session) -> None:
            bench_allreduce(self, session)

        return run_rank(place, self.options, work, listener)
