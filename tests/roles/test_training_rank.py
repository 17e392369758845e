"""The supervisor of a rank, with real processes: one rank a node, and none is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "training" / "files" / "espalier_rank.py"
SLEEP = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)"]
PATIENCE_S = 60.0


def wait_for(condition: Callable[[], Any]) -> Any:
    """The condition's first true value; fails the test when it never comes."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not happen")


class Node:
    """A folder that plays the part of a node."""

    def __init__(self, root: Path) -> None:
        self.lock = root / "rank.lock"
        self.runs = root

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, str(PROGRAM), *arguments], capture_output=True, text=True, check=False)

    def start(self, run: str, command: list[str], *options: str) -> subprocess.CompletedProcess[str]:
        return self.call("start", "--run-dir", str(self.runs / run), "--lock", str(self.lock), *options, "--", *command)

    def end(self, run: str) -> dict[str, Any]:
        path = self.runs / run / "exit.json"
        return dict(wait_for(lambda: path.exists() and json.loads(path.read_text())))

    def log(self, run: str) -> str:
        path = self.runs / run / "rank.log"
        return path.read_text() if path.exists() else ""

    def group(self) -> int:
        def written() -> int:
            try:
                return int(json.loads(self.lock.read_text()).get("group", 0))
            except ValueError:
                return 0

        return int(wait_for(written))

    def free(self) -> bool:
        return self.call("free", "--lock", str(self.lock)).returncode == 0


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    made = Node(tmp_path)
    yield made
    made.call("stop", "--lock", str(made.lock))


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_status_and_output_are_kept(node: Node) -> None:
    assert node.start("a", [sys.executable, "-c", "print('hello'); raise SystemExit(3)"]).returncode == 0
    assert node.end("a") == {"status": 3, "reason": ""}
    assert "hello" in node.log("a")
    wait_for(node.free)


def test_a_second_rank_is_refused_and_the_first_one_named(node: Node) -> None:
    node.start("first", SLEEP)
    node.group()
    refused = node.start("second", SLEEP)
    assert refused.returncode == 75
    assert "run first is still running here" in refused.stderr
    assert not (node.runs / "second").exists()


def test_a_second_rank_can_replace_the_first(node: Node) -> None:
    node.start("first", SLEEP)
    old = node.group()
    assert node.start("second", SLEEP, "--replace").returncode == 0
    assert node.end("first")["reason"] == "it was told to end"
    wait_for(lambda: not alive(old))
    wait_for(lambda: "begun" in node.log("second"))


def test_stop_ends_the_rank_and_all_it_started(node: Node) -> None:
    child = "import time; time.sleep(600)"
    script = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', '{child}']); {child}"
    node.start("a", [sys.executable, "-c", script])
    group = node.group()
    assert node.call("stop", "--lock", str(node.lock)).returncode == 0
    wait_for(lambda: not alive(group))
    assert node.free()


def test_a_rank_that_nobody_watches_ends(node: Node) -> None:
    node.start("a", SLEEP, "--lease-s", "0.5")
    group = node.group()
    assert "nobody has watched this rank" in node.end("a")["reason"]
    wait_for(lambda: not alive(group))


def test_a_killed_supervisor_leaves_the_node_taken_until_the_rank_is_stopped(node: Node) -> None:
    node.start("a", SLEEP)
    group = node.group()
    os.kill(int((node.runs / "a" / "supervisor.pid").read_text()), signal.SIGKILL)
    assert not node.free()
    assert node.call("stop", "--lock", str(node.lock)).returncode == 0
    wait_for(lambda: not alive(group))


def test_a_rank_killed_by_a_signal_says_by_which(node: Node) -> None:
    node.start("a", [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"])
    assert node.end("a") == {"status": 137, "reason": "killed by SIGKILL"}


def test_a_command_that_is_missing_is_named(node: Node) -> None:
    node.start("a", ["/no/such/espalier"])
    ended = node.end("a")
    assert ended["status"] == 127
    assert "/no/such/espalier could not be started" in ended["reason"]


def test_stop_and_free_on_a_node_that_never_ran_anything(node: Node) -> None:
    assert node.call("stop", "--lock", str(node.lock)).returncode == 0
    assert node.free()
