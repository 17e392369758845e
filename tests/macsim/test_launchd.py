"""Jobs: when they start and stop, and what launchctl says."""

from __future__ import annotations

import os
import plistlib
import signal
import socket
import threading

import pytest
from macsim.launchd.client import ask
from macsim.launchd.core import Launchd
from macsim.launchd.daemon import _answer, _give_session_limits
from macsim.launchd.spawn import file_limits, spawn
from macsim.launchd.spec import SpecError, load_spec, parse_spec

LABEL = "dev.espalier.probe"


def bootstrap(mac, path):
    return mac.type("launchctl", "bootstrap", "system", str(path))


def state_of(mac):
    out = mac.type("launchctl", "print", f"system/{LABEL}").out
    return next(line.split(" = ")[1] for line in out.splitlines() if line.startswith("\tstate"))


def test_a_job_runs_at_load_and_again_after_it_died(mac, system, write_job):
    assert bootstrap(mac, write_job(KeepAlive=True)).status == 0
    assert state_of(mac) == "running"
    system.end(501, 1)
    assert state_of(mac) == "spawn scheduled"  # ten seconds between two starts
    system.wait(9)
    assert len(system.started) == 1
    system.wait(1)
    assert len(system.started) == 2
    assert "\tlast exit code = 1\n" in mac.type("launchctl", "print", f"system/{LABEL}").out


@pytest.mark.parametrize(
    ("keep_alive", "code", "again"),
    [
        ({"SuccessfulExit": False}, 0, False),
        ({"SuccessfulExit": False}, 3, True),
        ({"SuccessfulExit": True}, 0, True),
        ({"Crashed": True}, -11, True),
        ({"Crashed": True}, 1, False),
        (False, 1, False),
    ],
)
def test_keep_alive_conditions(mac, system, write_job, keep_alive, code, again):
    bootstrap(mac, write_job(KeepAlive=keep_alive, RunAtLoad=True))
    system.end(501, code)
    system.wait(60)
    assert (len(system.started) == 2) is again


def test_an_interval_starts_a_job_that_is_not_running(mac, system, write_job):
    bootstrap(mac, write_job(StartInterval=300))
    assert system.started == []
    system.wait(300)
    system.end(501, 0)
    system.wait(299)
    assert len(system.started) == 1
    system.wait(1)
    assert len(system.started) == 2
    assert "\trun interval = 300 seconds\n" in mac.type("launchctl", "print", f"system/{LABEL}").out


def test_bootout_is_asynchronous_and_a_bootstrap_right_after_gives_5(mac, system, write_job):
    path = write_job(KeepAlive=True)
    bootstrap(mac, path)
    assert mac.type("launchctl", "bootout", f"system/{LABEL}").status == 0
    assert (501, signal.SIGTERM) in system.signals
    assert mac.type("launchctl", "print", f"system/{LABEL}").status == 0  # it still lives
    system.end(501, -15)
    refused = bootstrap(mac, path)
    assert (refused.status, refused.err) == (5, "Bootstrap failed: 5: Input/output error\n")
    system.wait(1)
    gone = mac.type("launchctl", "print", f"system/{LABEL}")
    assert (gone.status, gone.out) == (113, "")
    assert gone.err == f'Bad request.\nCould not find service "{LABEL}" in domain for system\n'
    assert bootstrap(mac, path).status == 0


def test_a_job_that_ignores_sigterm_is_killed(mac, system, write_job):
    bootstrap(mac, write_job(KeepAlive=True, ExitTimeOut=3))
    mac.type("launchctl", "bootout", f"system/{LABEL}")
    system.wait(2)
    assert (501, signal.SIGKILL) not in system.signals
    system.wait(1)
    assert (501, signal.SIGKILL) in system.signals


def test_a_loaded_label_keeps_its_definition(mac, system, write_job):
    bootstrap(mac, write_job(RunAtLoad=True))
    again = bootstrap(mac, write_job(RunAtLoad=True, ProgramArguments=["/bin/true"]))
    assert again.status == 5
    assert "/bin/true" not in mac.type("launchctl", "print", f"system/{LABEL}").out


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_list_that_others_may_write_is_refused(mac, system, write_job, mode):
    assert bootstrap(mac, write_job(mode=mode)).status == 5


@pytest.mark.parametrize(
    "keys",
    [{"Label": 5}, {"Label": ""}, {"ProgramArguments": []}, {"RunAtLoad": "yes"}, {"EnvironmentVariables": {"A": 1}}],
)
def test_a_wrong_list_says_why_and_gives_5(mac, system, write_job, keys):
    path = write_job()
    raw = {**plistlib.loads(path.read_bytes()), **keys}
    with pytest.raises(SpecError, match=r"probe\.plist: "):
        parse_spec(raw, str(path))
    path.write_bytes(plistlib.dumps(raw))
    assert bootstrap(mac, path).status == 5


def test_a_disabled_job_does_not_load_now_or_at_a_restart(mac, system, write_job):
    path = write_job(RunAtLoad=True)
    mac.type("launchctl", "disable", f"system/{LABEL}")
    assert bootstrap(mac, path).status == 5
    assert mac.type("launchctl", "print-disabled", "system").out == (
        f'\n\tdisabled services = {{\n\t\t"{LABEL}" => disabled\n\t}}\n'
    )
    system.boot()
    assert system.started == []
    mac.type("launchctl", "enable", f"system/{LABEL}")
    system.boot()
    assert [label for label, _ in system.started] == [LABEL]


def test_kickstart_restarts_and_an_unknown_label_gives_113(mac, system, write_job):
    bootstrap(mac, write_job())
    assert mac.type("launchctl", "kickstart", "-p", f"system/{LABEL}").out == "service spawned with pid: 501\n"
    assert system.launchd.handle({"verb": "kickstart", "label": LABEL, "kill": True})["killed"] == 501
    assert (501, signal.SIGTERM) in system.signals
    system.end(501, -15)
    assert len(system.started) == 2
    missing = mac.type("launchctl", "kickstart", "-k", "system/dev.espalier.none")
    assert (missing.status, missing.err) == (113, 'Could not find service "dev.espalier.none" in domain for system\n')


def test_a_program_that_does_not_exist_is_78_and_waits(mac, system, write_job):
    system.spawn_fails = True
    bootstrap(mac, write_job(KeepAlive=True))
    out = mac.type("launchctl", "print", f"system/{LABEL}").out
    assert "\tlast exit code = 78: EX_CONFIG\n" in out
    assert "\tstate = spawn scheduled\n" in out
    assert "penalty box" in out


def test_limits_of_launchd_reach_new_jobs_and_are_lost_at_a_restart(mac, system, write_job):
    assert mac.type("launchctl", "limit", "maxfiles").out == "\tmaxfiles    256            unlimited      \n"
    mac.type("launchctl", "limit", "maxfiles", "4096", "16384")
    assert mac.type("launchctl", "limit", "maxfiles").out == "\tmaxfiles    4096           16384          \n"
    bootstrap(mac, write_job(RunAtLoad=True))
    assert system.started[0][1][0] == 4096
    system.boot()
    assert mac.type("launchctl", "limit", "maxfiles").out == "\tmaxfiles    256            unlimited      \n"


def test_a_job_s_own_limit_comes_first_and_never_beyond_the_kernel_s():
    spec = parse_spec({"Label": "x", "Program": "/bin/true", "SoftResourceLimits": {"NumberOfFiles": 65536}}, "x.plist")
    assert file_limits(spec, 256, None, 245760, 1048576) == (65536, 1048576)
    assert file_limits(spec, 256, None, 10240, 1048576)[0] == 10240
    assert file_limits(spec, 256, 4096, 245760, 1048576) == (4096, 4096)


@pytest.mark.parametrize(
    ("argv", "status", "err"),
    [
        (("bootstrap", "gui/501", "x.plist"), 125, "Bootstrap failed: 125: Domain does not support specified action\n"),
        (("print", "gui/424242"), 112, "Bad request.\nCould not find domain for user gui: 424242\n"),
        (("bootout", "system/dev.espalier.none"), 3, "Boot-out failed: 3: No such process\n"),
        (
            ("kickstart", "dev.espalier.none"),
            64,
            "Unrecognized target specifier, did you mean gui/<uid>/dev.espalier.none\n",
        ),
        (("list", "dev.espalier.none"), 113, 'Could not find service "dev.espalier.none" in domain for port\n'),
    ],
)
def test_messages_and_statuses(mac, system, argv, status, err):
    result = mac.type("launchctl", *argv)
    assert (result.status, result.out, result.err) == (status, "", err)


def test_an_unknown_subcommand_is_usage(mac, system):
    assert mac.type("launchctl", "reload").status == 64


def test_without_root_nothing_is_changed(mac, system, write_job):
    path = write_job(KeepAlive=True)
    refused = mac.type("launchctl", "bootstrap", "system", str(path), uid=501)
    assert refused.err.endswith("Try re-running the command as root for richer errors.\n")
    bootstrap(mac, path)
    assert mac.type("launchctl", "bootout", f"system/{LABEL}", uid=501) == (
        1,
        "",
        "Boot-out failed: 1: Operation not permitted\n",
    )
    assert mac.type("launchctl", "list", uid=501).out == "PID\tStatus\tLabel\n"
    assert state_of(mac) == "running"


def test_the_old_verbs_fail_with_5_and_exit_0(mac, system, write_job):
    path = write_job(RunAtLoad=True)
    assert mac.type("launchctl", "load", str(path)) == (0, "", "")
    again = mac.type("launchctl", "load", str(path))
    assert (again.status, again.err.splitlines()[0]) == (0, "Load failed: 5: Input/output error")
    assert mac.type("launchctl", "unload", str(path)) == (0, "", "")


def test_the_list_shows_pid_status_and_label(mac, system, write_job):
    bootstrap(mac, write_job(RunAtLoad=True))
    assert mac.type("launchctl", "list").out == f"PID\tStatus\tLabel\n501\t0\t{LABEL}\n"
    system.end(501, 75)
    assert mac.type("launchctl", "list").out == f"PID\tStatus\tLabel\n-\t75\t{LABEL}\n"
    assert '\t"LastExitStatus" = 19200;\n' in mac.type("launchctl", "list", LABEL).out


def test_a_real_job_gets_its_environment_limit_and_files(mac, write_job, tmp_path):
    log = tmp_path / "job.log"
    path = write_job(
        ProgramArguments=["/bin/sh", "-c", "ulimit -n; pwd; env; exit 3"],
        EnvironmentVariables={"COLOUR": "green"},
        StandardOutPath=str(log),
        WorkingDirectory=str(tmp_path),
        RunAtLoad=True,
        SoftResourceLimits={"NumberOfFiles": 512},
    )
    launchd = Launchd(mac.context(), lambda: 0.0)
    assert launchd.handle({"verb": "bootstrap", "path": str(path)}) == {"code": 0}
    launchd.tick()
    pid, status = os.waitpid(launchd.jobs[LABEL].pid, 0)
    launchd.ended(pid, os.waitstatus_to_exitcode(status))
    assert launchd.jobs[LABEL].exit_code == 3
    lines = log.read_text().splitlines()
    assert lines[:2] == ["512", str(tmp_path)]
    assert {"COLOUR=green", f"XPC_SERVICE_NAME={LABEL}", "PATH=/usr/bin:/bin:/usr/sbin:/sbin"} <= set(lines)
    assert not any(line.startswith("HOME=") for line in lines)


def test_a_log_folder_that_does_not_exist_stops_the_job(write_job, tmp_path):
    spec = load_spec(write_job(StandardOutPath=str(tmp_path / "none/job.log")))
    assert spawn(spec, (256, 256)) == 0


def test_launchctl_and_the_daemon_speak_over_the_socket(mac, write_job):
    path = write_job()
    (mac.paths.etc / "security/limits.d").mkdir(parents=True)
    launchd = Launchd(mac.context(), lambda: 0.0)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(mac.paths.launchd_socket))
        server.listen()

        def answer() -> None:
            for _ in range(2):
                connection, _ = server.accept()
                with connection:
                    _answer(connection, launchd, mac.context())

        thread = threading.Thread(target=answer)
        thread.start()
        listed = ask(mac.context(), verb="limit")
        loaded = ask(mac.context(), verb="bootstrap", path=str(path))
        thread.join()
    assert listed == {"code": 0, "soft": 256, "hard": None}
    # Only root may load a job; the daemon knows who asks from the socket, not from the request.
    assert loaded == {"code": 0 if os.geteuid() == 0 else 1}
    assert (LABEL in launchd.jobs) is (os.geteuid() == 0)


def test_a_new_limit_is_given_to_new_sessions(mac):
    folder = mac.paths.etc / "security/limits.d"
    folder.mkdir(parents=True)
    launchd = Launchd(mac.context(), lambda: 0.0)
    launchd.handle({"verb": "limit", "soft": 65536, "hard": None})
    _give_session_limits(launchd, mac.context())
    assert (folder / "macsim.conf").read_text() == "* soft nofile 65536\nroot soft nofile 65536\n"
