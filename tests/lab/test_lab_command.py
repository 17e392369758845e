"""The command line of the rack: what it refuses, whose lab it leaves alone, and how it becomes root."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import lab_hosts
import lab_podman
import lab_state
import pytest
import rack

LAB = Path(rack.__file__).resolve().parent


@pytest.fixture
def no_podman(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """A machine without containers, on which nothing may be changed: every command is a read or a failure."""
    changing: list[str] = []

    def run(command: list[object], **_: object) -> str:
        words = [str(word) for word in command]
        if not {"ls", "ps", "show", "list", "images"} & set(words):
            changing.append(" ".join(words))
        return "[]" if {"json", "-json"} & set(words) else ""

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    for module in (lab_podman, lab_hosts):
        monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(lab_state, "ROOT", tmp_path)
    monkeypatch.setattr(lab_state.LabFolder.__init__, "__defaults__", (tmp_path,))
    monkeypatch.setattr(lab_state, "LOCKS", tmp_path / "locks")
    yield changing
    assert not (tmp_path / "build").exists()
    assert changing == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["up", "--nodes", "0"], "--nodes 0: a lab has 2 to 6 Macs"),
        (["up", "--nodes", "7"], "--nodes 7: a lab has 2 to 6 Macs"),
        (["up", "--cabling", "torus"], "--cabling torus: there are line, ring, mesh, star"),
        (["up", "--cpus", "0"], "--cpus 0: give a machine more than none"),
        (["up", "--name", "../x"], "--name '../x': use a letter"),
        (["status", "--name", "none"], "there is no lab none: make it with molecule/lab/rack.py up --name none"),
        (["cut", "--name", "none", "mac1", "1"], "there is no lab none"),
        (["reboot", "--name", "none", "mac1"], "there is no lab none"),
        (["ssh", "--name", "none", "mac1"], "there is no lab none"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_changed(
    words: list[str], says: str, no_podman: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert rack.main(words) == 1
    assert says in capsys.readouterr().err


def test_what_the_environment_says_is_checked_as_well(
    no_podman: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ESPALIER_LAB_CABLING", "torus")
    assert rack.main(["up"]) == 1
    assert "--cabling torus" in capsys.readouterr().err


def test_a_lab_of_another_checkout_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    folder = theirs / "build" / "lab" / "demo"
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text("{}")
    asked: list[str] = []

    def podman(*words: str, **_: object) -> str:
        asked.append(words[0])
        return json.dumps([{"Labels": {lab_hosts.LABEL: "demo", lab_hosts.CHECKOUT_LABEL: str(theirs)}}])

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(lab_hosts, "podman", podman)
    monkeypatch.setattr(lab_state, "LOCKS", tmp_path / "locks")
    for verb in ("up", "down"):
        assert rack.main([verb, "--name", "demo"]) == 1
        assert f"the lab demo belongs to the checkout {theirs}" in capsys.readouterr().err
    assert set(asked) == {"ps"}
    assert (folder / "lab.json").exists()


def test_without_root_it_goes_on_through_sudo_with_all_that_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class BecameError(Exception):
        pass

    def execvp(program: str, words: list[str]) -> None:
        raise BecameError(program, words)

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "execvp", execvp)
    monkeypatch.setattr(rack.shutil, "which", lambda _: "/usr/bin/sudo")
    monkeypatch.setenv("ESPALIER_CACHE", "/home/ada/cache")
    monkeypatch.setenv("ESPALIER_LAB_NODES", "4")
    with pytest.raises(BecameError) as became:
        rack.main(["up", "--name", "test", "--cabling", "mesh"])
    program, words = became.value.args
    assert program == "sudo"
    assert "ESPALIER_CACHE=/home/ada/cache" in words
    assert words[words.index(str(LAB / "rack.py")) :] == [
        *(str(LAB / "rack.py"), "up", "--name", "test"),
        *("--nodes", "4", "--cabling", "mesh"),
    ]


def test_without_root_and_sudo_it_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(rack.shutil, "which", lambda _: None)
    assert rack.main(["down"]) == 1
    assert "need root" in capsys.readouterr().err


def test_files_made_through_sudo_belong_to_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owned: dict[str, tuple[int, int]] = {}
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: owned.update({str(path): (uid, gid)}))
    monkeypatch.setattr(lab_state, "ROOT", tmp_path)
    monkeypatch.setenv("SUDO_UID", "1000")
    monkeypatch.setenv("SUDO_GID", "1001")
    folder = lab_state.LabFolder("demo", tmp_path)
    folder.path.mkdir(parents=True)
    folder.ssh_key.write_text("key")
    folder.hand_over()
    assert owned[str(folder.ssh_key)] == (1000, 1001)
    assert owned[str(tmp_path / "build" / "lab")] == (1000, 1001)


def test_making_the_root_file_system_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    program = (
        f"import lab_podman; lab_podman.run(['sh', '-c', 'echo $$ > {pid_file}; exec sleep 60'], ends_with_us=True)"
    )
    run = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(LAB)})
    while not (pid_file.exists() and pid_file.read_text().strip()):
        time.sleep(0.01)
    child = int(pid_file.read_text())
    run.send_signal(signal.SIGKILL)
    run.wait()
    stat = Path(f"/proc/{child}/stat")
    # A zombie has ended too: nobody may have collected it yet.
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.01)
