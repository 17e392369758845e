"""The driver of `make demo`: what it reads, says, and leaves behind when it is interrupted."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tools import demo

RECAP = textwrap.dedent("""\
    PLAY RECAP *********************************************************************
    head                       : ok=21   changed=3    unreachable=0    failed=0
    localhost                  : ok=4    changed=1    unreachable=0    failed=0
    mac1                       : ok=40   changed=12   unreachable=0    failed=1
    mac2                       : ok=1    changed=0    unreachable=1    failed=0
    """)


def test_the_recap_counts_the_machines_and_not_the_controller() -> None:
    assert demo.parse_recap(RECAP) == demo.Recap(hosts=3, changed=15, failed=2)


def test_a_log_without_a_recap_is_no_success() -> None:
    with pytest.raises(ValueError, match="PLAY RECAP"):
        demo.parse_recap("ERROR! the playbook could not be found\n")


def test_a_failed_step_names_its_status_its_log_and_the_last_lines(tmp_path: Path) -> None:
    steps = demo.Steps(tmp_path, total=1)
    with pytest.raises(demo.StepError, match=r"status 7") as raised:
        steps.run("Break it", [sys.executable, "-c", "print('the reason'); raise SystemExit(7)"])
    assert "the reason" in str(raised.value)
    assert "01-break-it.log" in str(raised.value)
    steps.write(complete=False)
    assert json.loads((tmp_path / "steps.json").read_text())["complete"] is False


def test_times_of_the_steps_are_kept(tmp_path: Path) -> None:
    steps = demo.Steps(tmp_path, total=1)
    steps.run("Work", [sys.executable, "-c", "pass"])
    steps.write(complete=True)
    written = json.loads((tmp_path / "steps.json").read_text())
    assert [step["name"] for step in written["steps"]] == ["Work"]
    assert written["steps"][0]["seconds"] >= 0


def test_an_interrupt_ends_the_step_and_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    driver = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from tools import demo
        child = "import os, subprocess, sys, time;" \\
            "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)']);" \\
            "open({str(pid_file)!r} + '.part', 'w').write(str(p.pid));" \\
            "os.rename({str(pid_file)!r} + '.part', {str(pid_file)!r}); time.sleep(300)"
        demo.Steps(Path({str(tmp_path)!r}), total=1).run("Wait", [sys.executable, "-c", child])
    """)
    process = subprocess.Popen([sys.executable, "-c", driver], cwd=demo.ROOT, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not pid_file.exists():
        assert time.monotonic() < limit, "the step did not start"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    grandchild = int(pid_file.read_text())
    limit = time.monotonic() + 30
    while time.monotonic() < limit:
        try:
            os.kill(grandchild, 0)
            # a zombie of ours that nobody reaped yet is dead too
            if "Z" in Path(f"/proc/{grandchild}/stat").read_text().split(")")[1][:3]:
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        time.sleep(0.1)
    pytest.fail("a process of the interrupted step is still alive")
