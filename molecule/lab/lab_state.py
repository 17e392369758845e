"""What a lab leaves on this machine: its folder under build/lab, and the lock that lets one run change it."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab_plan import LabError, Plan, plan_from_dict

ROOT = Path(__file__).resolve().parents[2]
LOCKS = Path("/run/espalier")


class LabFolder:
    """Paths of one lab's files, and the plan kept there."""

    def __init__(self, name: str, checkout: Path = ROOT) -> None:
        """Name the lab, and the checkout that has it; nothing is written yet."""
        self.name = name
        self.path = checkout / "build" / "lab" / name
        self.lab_json = self.path / "lab.json"
        self.ssh_key = self.path / "ssh_key"
        self.ssh_config = self.path / "ssh_config"
        self.known_hosts = self.path / "known_hosts"

    def read_plan(self) -> Plan | None:
        """The plan of the lab, or None when there is none.

        Raises:
            LabError: The file is not what the lab wrote.
        """
        try:
            return plan_from_dict(json.loads(self.lab_json.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(
                f"{self.lab_json}: cannot be read ({error}); remove the file and run rack.py down"
            ) from error

    def write_plan(self, plan: Plan) -> None:
        """Keep the plan, with the paths that the inventory needs."""
        value = {**plan.as_dict(), "ssh_key": str(self.ssh_key), "ssh_config": str(self.ssh_config)}
        write_atomically(self.lab_json, json.dumps(value, indent=2) + "\n")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lab, for every checkout on this machine: a second run waits for the first."""
        with _lock(f"lab-{self.name}"):
            yield

    def hand_over(self) -> None:
        """Give the files to the person who used sudo: Ansible and ssh run without it."""
        uid, gid = (int(os.environ.get(name, "0")) for name in ("SUDO_UID", "SUDO_GID"))
        if uid and self.path.exists():
            for path in (ROOT / "build", self.path.parent, self.path, *self.path.iterdir()):
                os.chown(path, uid, gid)


@contextmanager
def machine_lock() -> Iterator[None]:
    """Hold what all labs of this machine share: the image and the choice of a free network."""
    with _lock("machine"):
        yield


@contextmanager
def _lock(name: str) -> Iterator[None]:
    # Emptied by a reboot, as is what it guards; and no lock is left in a folder that `down` removes.
    LOCKS.mkdir(mode=0o700, exist_ok=True)
    with (LOCKS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file so that a reader, or a run after a crash, sees the old or the new one."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.chmod(mode)
    part.replace(path)
