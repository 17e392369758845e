"""A job is installed, reloaded and removed in the right order, and launchd's moods are waited for."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Sequence
from pathlib import Path

import pytest
from espalier.launchd_control import LaunchdError, LaunchdJob, property_list

LABEL = "dev.example.keeper"
DEFINITION = {"ProgramArguments": ["/usr/local/bin/keeper", "--new"], "KeepAlive": True}


class FakeLaunchd:
    """launchctl and plutil over one job: slow to let go, and busy for a while after."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded: dict[str, object] | None = None
        self.loaded_from = str(folder / f"{LABEL}.plist")
        self.disabled = False
        self.looks_until_gone = 0
        self.busy = 0
        self.lint = "OK"
        self.keeps_old = False
        self.calls: list[str] = []
        self._leaving = False

    def __call__(self, command: Sequence[str]) -> tuple[int, str, str]:
        if command[1] == "-lint":
            return (0 if self.lint == "OK" else 1), f"{command[2]}: {self.lint}\n", ""
        verb = command[1]
        if verb not in ("print", "print-disabled"):
            self.calls.append(verb)
        verbs = {
            "print": self._print,
            "print-disabled": self._print_disabled,
            "bootout": self._bootout,
            "bootstrap": self._bootstrap,
            "enable": self._enable,
        }
        return verbs[verb](command)

    def _print(self, command: Sequence[str]) -> tuple[int, str, str]:
        if self._leaving:
            self.looks_until_gone -= 1
            if self.looks_until_gone < 0:
                self.loaded, self._leaving = None, False
        if self.loaded is None:
            return 113, "", f'Could not find service "{LABEL}" in domain for system\n'
        words = self.loaded["ProgramArguments"]
        assert isinstance(words, list)
        rows = "".join(f"\t\t{word}\n" for word in words)
        head = f"system/{LABEL} = {{\n\tpath = {self.loaded_from}\n\tstate = running\n"
        return 0, f"{head}\targuments = {{\n{rows}\t}}\n\tpid = 7\n}}\n", ""

    def _print_disabled(self, command: Sequence[str]) -> tuple[int, str, str]:
        word = "disabled" if self.disabled else "enabled"
        return 0, f'\n\tdisabled services = {{\n\t\t"{LABEL}" => {word}\n\t}}\n', ""

    def _bootout(self, command: Sequence[str]) -> tuple[int, str, str]:
        self._leaving = True
        return 0, "", ""

    def _enable(self, command: Sequence[str]) -> tuple[int, str, str]:
        self.disabled = False
        return 0, "", ""

    def _bootstrap(self, command: Sequence[str]) -> tuple[int, str, str]:
        if self.busy > 0 or self.loaded is not None or self.disabled:
            self.busy -= 1
            return 5, "", "Bootstrap failed: 5: Input/output error\n"
        self.loaded = plistlib.loads(Path(command[3]).read_bytes())
        if self.keeps_old:
            self.loaded = {**self.loaded, "ProgramArguments": ["/usr/local/bin/keeper", "--old"]}
        return 0, "", ""


@pytest.fixture
def fake(tmp_path: Path) -> FakeLaunchd:
    return FakeLaunchd(tmp_path)


@pytest.fixture
def job(fake: FakeLaunchd, tmp_path: Path) -> LaunchdJob:
    owner = (os.getuid(), os.getgid())
    return LaunchdJob(LABEL, fake, timeout_s=2.0, folder=tmp_path, owner=owner, sleep=lambda seconds: None)


def install(job: LaunchdJob, definition: dict[str, object] = DEFINITION) -> bool:
    plan = job.plan_present(definition)
    job.carry_out(plan, definition)
    return plan.changes


def test_a_new_job_is_written_and_loaded_and_then_left_alone(job: LaunchdJob, fake: FakeLaunchd) -> None:
    assert install(job)
    assert plistlib.loads(job.path.read_bytes()) == {"Label": LABEL, **DEFINITION}
    assert job.path.stat().st_mode & 0o777 == 0o644
    fake.calls.clear()
    assert not install(job)
    assert fake.calls == []


def test_a_changed_definition_waits_for_the_old_job_to_go(job: LaunchdJob, fake: FakeLaunchd) -> None:
    install(job)
    fake.calls.clear()
    fake.looks_until_gone, fake.busy = 4, 3
    assert install(job, {**DEFINITION, "ProgramArguments": ["/usr/local/bin/keeper", "--newer"]})
    assert fake.calls == ["bootout", "bootstrap", "bootstrap", "bootstrap", "bootstrap"]
    assert fake.loaded is not None
    assert fake.loaded["ProgramArguments"] == ["/usr/local/bin/keeper", "--newer"]


def test_a_job_that_never_goes_is_named_and_the_new_list_is_not_put_in_its_place(
    job: LaunchdJob, fake: FakeLaunchd
) -> None:
    install(job)
    before = job.path.read_bytes()
    fake.looks_until_gone = 1000
    with pytest.raises(LaunchdError, match="was still there 2 s after launchctl bootout"):
        install(job, {**DEFINITION, "KeepAlive": False})
    assert job.path.read_bytes() == before
    assert [path.name for path in job.path.parent.iterdir()] == [job.path.name]


def test_launchd_that_stays_busy_is_named_with_what_to_look_at(job: LaunchdJob, fake: FakeLaunchd) -> None:
    fake.busy = 1000
    with pytest.raises(LaunchdError, match=r"ended with 5: Input/output error.*print-disabled"):
        install(job)


def test_a_disabled_label_is_enabled_before_it_is_loaded(job: LaunchdJob, fake: FakeLaunchd) -> None:
    fake.disabled = True
    install(job)
    assert fake.calls == ["enable", "bootstrap"]


def test_a_loaded_job_that_is_disabled_is_enabled_without_a_reload(job: LaunchdJob, fake: FakeLaunchd) -> None:
    install(job)
    fake.calls.clear()
    fake.disabled = True
    assert install(job)
    assert fake.calls == ["enable"]


def test_a_job_loaded_from_an_older_list_is_reloaded(job: LaunchdJob, fake: FakeLaunchd) -> None:
    install(job)
    fake.loaded = {"ProgramArguments": ["/usr/local/bin/keeper", "--old"]}
    assert install(job)
    assert fake.loaded["ProgramArguments"] == DEFINITION["ProgramArguments"]


def test_launchd_that_keeps_the_old_definition_is_noticed(job: LaunchdJob, fake: FakeLaunchd) -> None:
    fake.keeps_old = True
    with pytest.raises(LaunchdError, match="not from the new property list"):
        install(job)


def test_a_bad_property_list_leaves_the_running_job_alone(job: LaunchdJob, fake: FakeLaunchd) -> None:
    install(job)
    fake.calls.clear()
    fake.lint = "Found non-key inside <dict> at line 4"
    with pytest.raises(LaunchdError, match="plutil refuses the property list"):
        install(job, {**DEFINITION, "Nice": 5})
    assert fake.calls == []
    assert [path.name for path in job.path.parent.iterdir()] == [job.path.name]


def test_a_label_of_somebody_else_is_refused_both_ways(job: LaunchdJob, fake: FakeLaunchd) -> None:
    fake.loaded = dict(DEFINITION)
    fake.loaded_from = "/Library/LaunchDaemons/other.plist"
    with pytest.raises(LaunchdError, match="belongs to somebody else"):
        job.plan_present(DEFINITION)
    with pytest.raises(LaunchdError, match="belongs to somebody else"):
        job.plan_absent()


def test_a_list_that_others_may_write_is_written_anew(job: LaunchdJob, fake: FakeLaunchd) -> None:
    install(job)
    job.path.chmod(0o666)
    assert install(job)
    assert job.path.stat().st_mode & 0o777 == 0o644


def test_removal_waits_deletes_and_is_done_once(job: LaunchdJob, fake: FakeLaunchd) -> None:
    install(job)
    fake.looks_until_gone = 3
    job.carry_out(job.plan_absent(), {})
    assert fake.loaded is None
    assert not job.path.exists()
    assert not job.plan_absent().changes


def test_the_same_definition_gives_the_same_bytes() -> None:
    turned = dict(reversed(DEFINITION.items()))
    assert property_list(LABEL, DEFINITION) == property_list(LABEL, turned)


def test_what_a_property_list_cannot_hold_is_refused() -> None:
    with pytest.raises(LaunchdError, match="does not fit a property list"):
        property_list(LABEL, {"ProgramArguments": ["/bin/true"], "StartInterval": 2**70})
