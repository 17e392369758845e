"""What a newcomer sees before anything is installed: `make`, and what an unfit machine is told."""

import os
import subprocess
from pathlib import Path

import pytest

from tools import demo


def run(*command: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path} if path else dict(os.environ)
    return subprocess.run(
        command, cwd=demo.ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_make_alone_lists_the_two_commands() -> None:
    listed = run("make")
    assert listed.returncode == 0
    assert {"demo", "test"} <= {line.split()[1] for line in listed.stdout.splitlines() if line.strip()}


def test_every_target_of_the_makefile_is_explained() -> None:
    text = (demo.ROOT / "Makefile").read_text()
    phony = next(line for line in text.splitlines() if line.startswith(".PHONY:")).split()[1:]
    listed = run("make").stdout
    assert [name for name in phony if f"make {name} " not in listed] == []


def test_an_unknown_profile_is_refused() -> None:
    answer = run("tools/bootstrap.sh", "everything")
    assert answer.returncode == 2
    assert "python, rack or local" in answer.stderr


def test_without_a_python_that_fits_the_message_says_which(tmp_path: Path) -> None:
    for name in ("bash", "dirname", "env"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    answer = run("tools/bootstrap.sh", "python", path=str(tmp_path))
    assert answer.returncode == 2
    assert "no Python from 3.11 to 3.13 was found" in answer.stderr


@pytest.mark.parametrize(
    ("system", "has_apt", "local", "says"),
    [
        ("FreeBSD", False, False, "Debian or Ubuntu, or a Mac; this is FreeBSD"),
        ("Windows", False, True, "Debian or Ubuntu, or a Mac; this is Windows"),
        ("Linux", False, False, "make demo-local"),
    ],
)
def test_another_system_is_told_what_is_needed(system: str, has_apt: bool, local: bool, says: str) -> None:
    assert says in str(demo.unsupported(system, has_apt, local=local))


@pytest.mark.parametrize(
    ("system", "has_apt", "local"),
    [("Darwin", False, False), ("Linux", True, False), ("Linux", False, True)],
)
def test_a_system_that_fits_is_not_refused(system: str, has_apt: bool, local: bool) -> None:
    assert demo.unsupported(system, has_apt, local=local) is None
