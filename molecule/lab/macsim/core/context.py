"""What a command is given: who calls, where things lie, and the Linux system underneath."""

from __future__ import annotations

import os
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import TextIO

from macsim.core.errors import ExitError
from macsim.core.linux import Linux
from macsim.core.node import Node, load_node
from macsim.core.paths import Paths


class Context:
    """One call of a command.

    Attributes:
        paths: Where the simulator keeps its state.
        uid: Who calls.
        linux: The system underneath; tests give a substitute.
        out: Standard output.
        err: Standard error.
    """

    def __init__(
        self,
        paths: Paths | None = None,
        uid: int | None = None,
        linux: Linux | None = None,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.paths = paths or Paths()
        self.uid = os.geteuid() if uid is None else uid
        self.linux = linux or Linux(self.paths.linux_tools)
        self.out = out or sys.stdout
        self.err = err or sys.stderr

    @cached_property
    def node(self) -> Node:
        """Which Mac this is."""
        return load_node(self.paths.node_config)

    @property
    def is_root(self) -> bool:
        """Whether root calls."""
        return self.uid == 0

    def print(self, text: str = "") -> None:
        """Write a line to standard output."""
        self.out.write(text + "\n")

    def warn(self, text: str) -> None:
        """Write a line to standard error."""
        self.err.write(text + "\n")

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def boot_time_s(self) -> float:
        """Return when this Mac was started: when process 1 of its container was, in seconds since 1970."""
        ticks = int(Path("/proc/1/stat").read_text().rpartition(") ")[2].split()[19])
        for line in Path("/proc/stat").read_text().splitlines():
            if line.startswith("btime "):
                return int(line.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
        raise ExitError(1, err="macsim: /proc/stat has no btime, so the time of the start is unknown\n")
