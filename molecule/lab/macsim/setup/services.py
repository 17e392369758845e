"""The two services that stand for a Mac's own: launchd and configd."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from macsim.core.paths import Paths
from macsim.setup.commands import wrapper
from macsim.setup.write import write

_UNIT = """[Unit]
Description={description}
{order}
[Service]
Type={kind}
ExecStart={program}
RuntimeDirectory=macsim
RuntimeDirectoryPreserve=yes
LimitNOFILE=infinity
TasksMax=infinity
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""
_SERVICES = {
    "macsim-configd": ("Network services of the simulated Mac", "simple", "", "macsim.net.configd:main()"),
    "macsim-launchd": (
        "Daemons of the simulated Mac",
        "notify",
        # launchd is process 1 of a Mac: nobody can log in before it answers.
        "After=macsim-configd.service\nBefore=ssh.service\n",
        "macsim.launchd.daemon:main()",
    ),
}


def install(paths: Paths, *, start: bool) -> list[str]:
    """Write, enable and (re)start the services; Debian's own babeld must not run beside Homebrew's."""
    changed: list[str] = []
    for name, (description, kind, order, call) in _SERVICES.items():
        program = paths.simulator / "libexec" / name
        changed += write(program, wrapper(paths, call), 0o755)
        unit = _UNIT.format(description=description, kind=kind, order=order, program=program)
        changed += write(paths.etc / f"systemd/system/{name}.service", unit)
    # The services go on with the code they were started with, so a new version of it restarts them.
    changed += write(paths.kept / "version", _digest(paths.simulator) + "\n")
    if str(paths.root) != "/":
        return changed
    masked = Path("/etc/systemd/system/babeld.service")
    if Path("/lib/systemd/system/babeld.service").exists() and not masked.is_symlink():
        _systemctl("disable", "babeld.service")
        _systemctl("mask", "babeld.service")
        changed.append("masked babeld.service")
    units = [f"{name}.service" for name in _SERVICES]
    _systemctl("enable", *units)
    if start and Path("/run/systemd/system").is_dir():
        _systemctl("daemon-reload")
        _systemctl("restart" if changed else "start", *units)
    return changed


def _digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()


def _systemctl(*arguments: str) -> None:
    done = subprocess.run(["systemctl", "--quiet", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"systemctl {' '.join(arguments)} failed: {done.stderr.strip()}")
