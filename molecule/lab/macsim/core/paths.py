"""Where the simulator keeps things, below one root that tests can move."""

from __future__ import annotations

import os
from pathlib import Path

ROOT_VARIABLE = "ESPALIER_MACSIM_ROOT"


class Paths:
    """Every path that the simulator reads or writes.

    What a Mac keeps over a restart is below `kept`; what it loses is below `volatile`, which is on the
    memory file system of the container and so disappears with it.
    """

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root if root is not None else os.environ.get(ROOT_VARIABLE, "/"))
        self.kept = self.root / "var/db/macsim"
        self.volatile = self.root / "run/macsim"
        self.node_config = self.kept / "node.json"
        self.call_log = self.root / "var/log/macsim/calls.jsonl"
        self.launch_daemons = self.root / "Library/LaunchDaemons"
        self.launchd_socket = self.volatile / "launchd.sock"
        self.homebrew = self.root / "opt/homebrew"
        self.simulator = self.root / "opt/macsim"
        self.linux_tools = self.simulator / "linux"
        self.etc = self.root / "etc"

    def at(self, absolute: str | Path) -> Path:
        """Return where an absolute path of the Mac lies below this root."""
        return self.root / str(absolute).lstrip("/")
