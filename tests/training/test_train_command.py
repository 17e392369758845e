"""`espalier` as a user types it: real processes, real exit codes."""

import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

ENDLESS = ["--set", "train.steps=1000000", "--set", "train.log_every=5"]
RESULT_KEYS = {
    "job", "model", "dataset", "world_size", "nodes", "backend", "device", "seconds", "steps", "global_batch",
    "samples", "samples_s", "tokens_s", "accuracy", "loss_first", "loss_last", "losses", "parameters",
    "parameters_sha256", "replicas_identical", "environment",
}  # fmt: skip
WAIT_S = 240
# Fewer than the bundled job's, and still enough to learn.
STEPS = ["--set", "train.steps=240"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "training", *arguments]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=WAIT_S, check=False)


class Running:
    """A command that has begun to train; whatever happens in a test, it is gone afterwards."""

    def __init__(self, *arguments: str, lines: int = 2) -> None:
        self.process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout
        for _ in range(lines):
            line = self.process.stdout.readline()
            assert line, self.process.communicate()[1]

    def ranks(self) -> list[psutil.Process]:
        found = [
            child for child in psutil.Process(self.process.pid).children() if "spawn_main" in " ".join(child.cmdline())
        ]
        return sorted(found, key=lambda child: child.pid)

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=WAIT_S)
        return self.process.returncode, errors


@contextlib.contextmanager
def training(*arguments: str, lines: int = 2) -> Iterator[Running]:
    running = Running(*arguments, lines=lines)
    try:
        yield running
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in [*running.ranks(), running.process]:
                process.kill()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[dict[str, Any], Path, str]]:
    """The digits job on one rank and on three."""
    made = {}
    for count in (1, 3):
        folder = tmp_path_factory.mktemp(f"digits{count}")
        done = run("train", "digits", "--local-ranks", str(count), "--output", str(folder), *STEPS)
        assert done.returncode == 0, done.stderr
        made[count] = (json.loads((folder / "result.json").read_text()), folder, done.stdout)
    return made


Results = dict[int, tuple[dict[str, Any], Path, str]]


def test_one_rank_and_three_learn_the_same(results: Results) -> None:
    one, three = results[1][0], results[3][0]
    assert one["accuracy"] >= 0.97
    assert three["accuracy"] >= 0.97
    assert abs(one["accuracy"] - three["accuracy"]) <= 0.01
    # The same global batches: the first loss is the same number but for the order of additions.
    assert one["loss_first"] == pytest.approx(three["loss_first"], rel=1e-5)
    assert one["losses"][1][1] == pytest.approx(three["losses"][1][1], rel=1e-3)


def test_replicas_are_identical_to_the_last_bit(results: Results) -> None:
    three = results[3][0]
    assert three["replicas_identical"] is True
    assert set(three["parameters_sha256"]) == {"local0", "local1", "local2"}
    assert len(set(three["parameters_sha256"].values())) == 1


def test_the_result_has_the_promised_keys(results: Results) -> None:
    for count, (result, _, _) in results.items():
        assert set(result) == RESULT_KEYS
        assert result["world_size"] == len(result["nodes"]) == count
        assert (result["job"], result["model"], result["dataset"]) == ("digits", "digits_cnn", "digits")
        assert (result["steps"], result["global_batch"], result["samples"]) == (240, 96, 23040)
        assert result["samples_s"] == pytest.approx(23040 / result["seconds"])
        assert result["tokens_s"] is None
        assert [step for step, _ in result["losses"]] == [1, *range(40, 241, 40)]


def test_every_rank_keeps_its_numbers_and_the_first_one_says_them(results: Results) -> None:
    _, folder, output = results[3]
    for rank in range(3):
        lines = [json.loads(line) for line in (folder / f"rank{rank}.jsonl").read_text().splitlines()]
        assert [line["step"] for line in lines[:2]] == [1, 40]
        assert lines[-1]["event"] == "test"
    said = [json.loads(line) for line in output.splitlines()]
    assert [line.get("step") for line in said[:2]] == [1, 40]
    assert said[-1]["event"] == "done"
    assert len(said) == 8


def test_the_same_run_twice_gives_the_same_parameters(tmp_path: Path) -> None:
    hashes = []
    for name in ("a", "b"):
        done = run(
            "train", "gpt", "--local-ranks", "2", "--output", str(tmp_path / name),
            "--set", "train.steps=6", "--set", "schedule.warmup_steps=2", "--set", "data.max_mib=0.1",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        result = json.loads((tmp_path / name / "result.json").read_text())
        assert result["accuracy"] is None
        assert result["tokens_s"] == pytest.approx(64 * result["samples_s"])
        assert result["loss_last"] < result["loss_first"]
        hashes.append(result["parameters_sha256"])
    assert hashes[0] == hashes[1]


def test_a_killed_rank_ends_all_and_is_named(tmp_path: Path) -> None:
    with training("train", "digits", "--local-ranks", "3", "--output", str(tmp_path), *ENDLESS) as running:
        ranks = running.ranks()
        ranks[1].kill()
        status, errors = running.end()
        assert status == 3
        assert "rank1 was ended by SIGKILL" in errors
        assert "Look at rank 1 (local1)" in errors
        assert "Traceback" not in errors
        assert not any(rank.is_running() for rank in ranks)


def test_a_stopped_rank_is_found_by_the_timeout(tmp_path: Path) -> None:
    with training(
        "train", "digits", "--local-ranks", "3", "--output", str(tmp_path), *ENDLESS,
        "--set", "distributed.timeout_s=2",
    ) as running:  # fmt: skip
        ranks = running.ranks()
        ranks[2].suspend()
        status, errors = running.end()
        assert status == 3
        assert "no answer within 2 s. Look at rank 2 (local2)" in errors
        assert not any(rank.is_running() for rank in ranks)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_all_ranks_without_a_traceback(tmp_path: Path, number: signal.Signals) -> None:
    with training("train", "digits", "--local-ranks", "2", "--output", str(tmp_path), *ENDLESS) as running:
        ranks = running.ranks()
        if number is signal.SIGINT:
            # A terminal sends it to the whole process group.
            for rank in ranks:
                rank.send_signal(number)
        running.process.send_signal(number)
        status, errors = running.end()
        assert status == 130
        assert "Traceback" not in errors
        assert not any(rank.is_running() for rank in ranks)


def test_ranks_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    with training("train", "digits", "--local-ranks", "2", "--output", str(tmp_path), *ENDLESS) as running:
        ranks = running.ranks()
        running.process.kill()
        gone, alive = psutil.wait_procs(ranks, timeout=WAIT_S)
        assert len(gone) == 2
        assert not alive


def test_numbers_that_are_not_finite_have_their_own_status(tmp_path: Path) -> None:
    done = run(
        "train", "digits", "--local-ranks", "1", "--output", str(tmp_path), "--set", "optimizer.name=sgd",
        "--set", "optimizer.lr=100", "--set", "train.clip_norm=0", "--set", "schedule.warmup_steps=0",
        "--set", "train.steps=200",
    )  # fmt: skip
    assert done.returncode == 4
    assert "the loss is nan" in done.stderr
    assert "Lower optimizer.lr" in done.stderr
    assert not (tmp_path / "result.json").exists()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--set", "train.global_batch=0"], "train.global_batch is 0"),
        (["--set", "model.name=resnet"], "model.name is 'resnet'"),
        (["--set", "train.global_batch=1"], "less than the 2 ranks"),
        (["--nodes", "mac1"], "--nodes and --local-ranks exclude each other"),
    ],
)
def test_bad_input_starts_nothing(tmp_path: Path, arguments: list[str], part: str) -> None:
    folder = tmp_path / "out"
    done = run("train", "digits", "--local-ranks", "2", "--output", str(folder), *arguments)
    assert done.returncode == 2
    assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert not folder.exists()


def test_a_batch_larger_than_the_data_is_refused(tmp_path: Path) -> None:
    done = run("train", "digits", "--local-ranks", "1", "--output", str(tmp_path), "--set", "train.global_batch=5000")
    assert done.returncode == 2
    assert "train.global_batch 5000 is more than the 1438 training samples" in done.stderr


class Ring:
    """Two nodes on this machine, each with its own configuration and address, as on a rack."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        # Every system answers on 127.0.0.1; only Linux also on its neighbours.
        second = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
        addresses = {"mac1": "127.0.0.1", "mac2": second}
        ring = [{"node": name, "address": address} for name, address in addresses.items()]
        self.files = {}
        for name, address in addresses.items():
            self.files[name] = folder / f"{name}.yml"
            content = {"node": name, "address": address, "ring": ring, "master_port": port, "threads": 1}
            self.files[name].write_text(yaml.safe_dump({**content, "runs_dir": str(folder / name)}))

    def start(self, node: str, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command("train", "digits", "--node-config", str(self.files[node]), *arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )


SHORT = ["--set", "train.steps=20", "--set", "train.log_every=10"]


def test_two_nodes_train_over_their_own_addresses(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    nodes = [ring.start(name, *SHORT) for name in ("mac2", "mac1")]
    errors = [node.communicate(timeout=WAIT_S)[1] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0], errors
    (folder,) = (tmp_path / "mac1").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert result["nodes"] == ["mac1", "mac2"]
    assert result["replicas_identical"] is True
    (other,) = (tmp_path / "mac2").iterdir()
    assert sorted(path.name for path in other.iterdir()) == ["rank1.jsonl"]


def test_a_node_that_never_comes_is_named(tmp_path: Path) -> None:
    node = Ring(tmp_path).start("mac1", *SHORT, "--set", "distributed.connect_timeout_s=2")
    _, errors = node.communicate(timeout=WAIT_S)
    assert node.returncode == 3
    assert "in vain for rank 1 (mac2)" in errors


def test_a_first_node_that_never_comes_is_named(tmp_path: Path) -> None:
    node = Ring(tmp_path).start("mac2", *SHORT, "--set", "distributed.connect_timeout_s=2")
    _, errors = node.communicate(timeout=WAIT_S)
    assert node.returncode == 3
    assert "rank 0 (mac1) does not answer at 127.0.0.1:" in errors


def test_nodes_with_different_jobs_do_not_train_together(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    nodes = [ring.start("mac1", *SHORT), ring.start("mac2", *SHORT, "--set", "seed=5")]
    errors = [node.communicate(timeout=WAIT_S)[1] for node in nodes]
    assert [node.returncode for node in nodes] == [2, 2], errors
    assert "the job differs between ranks: mac1 has" in errors[0]


def test_one_interrupted_node_ends_the_other_too(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    nodes = [ring.start(name, *ENDLESS) for name in ("mac1", "mac2")]
    assert nodes[0].stdout
    assert nodes[0].stdout.readline()
    nodes[1].send_signal(signal.SIGTERM)
    errors = [node.communicate(timeout=WAIT_S)[1] for node in nodes]
    assert [node.returncode for node in nodes] == [130, 130], errors
    assert "because rank 1 (mac2) was interrupted" in errors[0]


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    port = yaml.safe_load(ring.files["mac1"].read_text())["master_port"]
    with socket.create_server(("127.0.0.1", port)):
        node = ring.start("mac1", *SHORT)
        _, errors = node.communicate(timeout=WAIT_S)
    assert node.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened on" in errors


def test_the_benchmark_writes_sizes_times_and_bandwidths(tmp_path: Path) -> None:
    done = run("bench", "allreduce", "--local-ranks", "2", "--sizes", "4KiB,1MiB", "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "allreduce.json").read_text())
    assert (content["backend"], content["world_size"]) == ("unified", 2)
    assert [row["bytes"] for row in content["results"]] == [4096, 1048576]
    for row in content["results"]:
        assert row["iterations"] >= 5
        assert row["algbw_gb_s"] == pytest.approx(row["bytes"] / row["seconds"] / 1e9)
        # With two ranks, 2 (n - 1) / n is 1.
        assert row["busbw_gb_s"] == pytest.approx(row["algbw_gb_s"])


def test_a_bar_is_shown_on_a_terminal(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    # A new terminal is zero columns wide, in which no bar has room.
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    process = subprocess.Popen(
        command("train", "digits", "--local-ranks", "1", "--output", str(tmp_path), *SHORT),
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    deadline = time.monotonic() + WAIT_S
    with contextlib.suppress(OSError):
        while time.monotonic() < deadline and (part := os.read(leader, 4096)):
            shown += part
    os.close(leader)
    assert process.wait(WAIT_S) == 0
    assert b"20/20" in shown
    assert b"samples/s" in shown
    assert process.stdout
    assert process.stdout.read() == b""
