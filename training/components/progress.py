"""What a run says while it goes: a bar for a person, JSON lines for a machine, never both."""

import json
import sys
from pathlib import Path
from typing import Any, Protocol, TextIO

from tqdm import tqdm


class Progress(Protocol):
    """Receives the run's events."""

    def step(self) -> None:
        """One more step is done."""

    def report(self, values: dict[str, Any]) -> None:
        """Numbers of a logging interval."""

    def message(self, text: str) -> None:
        """A sentence."""

    def close(self) -> None:
        """The run is over."""


class Silent:
    """For all ranks but the first."""

    def step(self) -> None:
        """Says nothing."""

    def report(self, values: dict[str, Any]) -> None:
        """Says nothing."""

    def message(self, text: str) -> None:
        """Says nothing."""

    def close(self) -> None:
        """Says nothing."""


class Bar:
    """A bar on a terminal, with the last loss and throughput beside it."""

    def __init__(self, name: str, steps: int, stream: TextIO) -> None:
        self._bar = tqdm(total=steps, desc=name, unit="step", file=stream, dynamic_ncols=True, leave=True)

    def step(self) -> None:
        """Moves the bar."""
        self._bar.update()

    def report(self, values: dict[str, Any]) -> None:
        """Shows loss and samples a second."""
        if "loss" in values and "samples_s" in values:
            self._bar.set_postfix_str(f"loss {values['loss']:.4f}, {values['samples_s']:.0f} samples/s")

    def message(self, text: str) -> None:
        """Prints a line above the bar."""
        self._bar.write(text, file=self._bar.fp)

    def close(self) -> None:
        """Leaves the bar as it is."""
        self._bar.close()


class JsonLines:
    """One JSON object a line."""

    def __init__(self, name: str, stream: TextIO) -> None:
        self._name, self._stream = name, stream

    def step(self) -> None:
        """Says nothing between two reports."""

    def report(self, values: dict[str, Any]) -> None:
        """Writes the numbers."""
        print(json.dumps({"job": self._name, **values}), file=self._stream, flush=True)

    def message(self, text: str) -> None:
        """Writes the sentence."""
        self.report({"event": "message", "text": text})

    def close(self) -> None:
        """Nothing is open."""


def build_progress(name: str, steps: int, rank: int) -> Progress:
    """The way to report that suits where the output goes; only the first rank speaks."""
    if rank != 0:
        return Silent()
    if sys.stderr.isatty():
        return Bar(name, steps, sys.stderr)
    return JsonLines(name, sys.stdout)


class MetricsFile:
    """`rank<k>.jsonl`: the numbers of one rank, one JSON object a line."""

    def __init__(self, folder: Path, rank: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / f"rank{rank}.jsonl").open("w", encoding="utf-8", buffering=1)

    def write(self, values: dict[str, Any]) -> None:
        """Adds a line."""
        self._file.write(json.dumps(values) + "\n")

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
