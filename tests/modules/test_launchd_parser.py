"""What launchctl and plutil print is understood, and what of it decides about a job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from espalier import launchd

HERE = Path(__file__).parent / "fixtures"
RECORDED = os.environ.get("ESPALIER_FIXTURES")


def text(name: str) -> str:
    return (HERE / name).read_text()


def recorded(folder: str) -> list[Path]:
    return sorted(Path(RECORDED, "sys", folder).glob("*.out")) if RECORDED else []


def test_a_running_job_is_read_with_its_arguments() -> None:
    job = launchd.parse_print(text("print-running.out"))
    assert job.label == "dev.example.keeper"
    assert job.path == "/Library/LaunchDaemons/dev.example.keeper.plist"
    assert job.arguments == ("/usr/local/bin/keeper", "--rule", "path = {")
    assert (job.state, job.pid, job.last_exit_code) == ("running", 4711, 75)
    assert (job.stdout_path, job.stderr_path) == ("/var/log/keeper.log", "/var/log/keeper.err")


def test_the_old_layout_is_read_and_a_process_number_of_zero_is_none() -> None:
    job = launchd.parse_print(text("print-old-layout.out"))
    assert (job.label, job.path) == ("dev.example.old", "(submitted by dev.example.starter.77)")
    assert job.program == "/Applications/Old Thing.app/Contents/MacOS/old"
    assert (job.arguments, job.pid, job.last_exit_code) == ((), None, None)


def test_a_job_that_is_not_there_is_no_job() -> None:
    with pytest.raises(ValueError, match="Could not find service"):
        launchd.parse_print(text("print-not-found.out"))


@pytest.mark.parametrize(
    ("said", "number", "words"),
    [
        ("Bootstrap failed: 5: Input/output error\nTry again as root.\n", 5, "Input/output error"),
        ("Boot-out failed: 3: No such process", 3, "No such process"),
        ('Could not kickstart service "a.b": 150: not now', 150, "not now"),
        ("Unrecognized target specifier, did you mean gui/<uid>/a.b", 64, "Unrecognized"),
        ("Not privileged to signal service.", None, "Not privileged"),
        (text("print-not-found.out"), 113, "Could not find service"),
        ("Could not find domain for user gui: 424242", 112, "Could not find domain"),
    ],
)
def test_a_refusal_is_read(said: str, number: int | None, words: str) -> None:
    failure = launchd.parse_failure(said)
    assert failure is not None
    assert failure.number == number
    assert words in failure.text


def test_both_words_for_disabled_are_known() -> None:
    assert launchd.parse_disabled(text("print-disabled.out")) == {
        "dev.example.off": True,
        "dev.example.on": False,
        "dev.example.old-off": True,
        "dev.example.old-on": False,
    }


def test_limits_and_their_absence() -> None:
    assert launchd.parse_limits("\tmaxfiles    256            unlimited      \n") == {"maxfiles": (256, None)}


def test_a_property_list_that_does_not_parse_is_named() -> None:
    assert launchd.parse_lint("/x/a.plist: OK\n") == []
    assert launchd.parse_lint("a.plist: Found non-key inside <dict> at line 4\n") == [
        "Found non-key inside <dict> at line 4"
    ]


def test_a_job_of_an_older_property_list_is_told_apart() -> None:
    job = launchd.parse_print(text("print-running.out"))
    same = {
        "ProgramArguments": ["/usr/local/bin/keeper", "--rule", "path = {"],
        "StandardOutPath": "/var/log/keeper.log",
        "StandardErrorPath": "/var/log/keeper.err",
    }
    assert launchd.differences(job, job.path, same) == []
    (line,) = launchd.differences(job, job.path, {**same, "ProgramArguments": ["/usr/local/bin/keeper", "--new"]})
    assert "its arguments is /usr/local/bin/keeper --rule" in line
    assert "--new is wanted" in line


def test_empty_arguments_and_line_breaks_do_not_look_like_another_job() -> None:
    shown = "system/a.b = {\n\tpath = /p\n\targuments = {\n\t\t/bin/sh\n\t\t-c\n\t\tone\n\t\ttwo\n\t}\n}\n"
    job = launchd.parse_print(shown)
    assert launchd.differences(job, "/p", {"ProgramArguments": ["/bin/sh", "-c", "one\ntwo", ""]}) == []


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({"RunAtLoad": True}, "ProgramArguments is missing"),
        ({"ProgramArguments": ["/bin/sleep", 5]}, "numbers in quotes"),
        ({"ProgramArguments": []}, "list of strings"),
        ({"ProgramArguments": ["/bin/true"], "Label": "other"}, "leave Label out"),
        ({"ProgramArguments": ["/bin/true"], "EnvironmentVariables": {"A": None}}, "EnvironmentVariables.A is null"),
        ({"Program": "/bin/true", "KeepAlive": {1: True}}, "the key 1 is not a string"),
    ],
)
def test_a_definition_that_launchd_would_refuse(definition: dict[str, object], words: str) -> None:
    assert words in "; ".join(launchd.definition_problems("a.b", definition))


@pytest.mark.skipif(not RECORDED, reason="ESPALIER_FIXTURES does not name a folder of recorded output")
class TestRecorded:
    @pytest.mark.parametrize("path", recorded("launchctl-print"), ids=lambda path: path.stem)
    def test_print(self, path: Path) -> None:
        said = path.read_text()
        if "not-found" in path.stem:
            assert launchd.parse_failure(said) is not None
            with pytest.raises(ValueError, match="no job"):
                launchd.parse_print(said)
        else:
            job = launchd.parse_print(said)
            assert job.label
            # a domain has neither
            assert path.stem.startswith("domain-") or (job.path and job.state)

    @pytest.mark.parametrize(
        "path",
        [
            path
            for verb in ("bootout", "bootstrap", "kickstart", "kill", "load")
            for path in recorded(f"launchctl-{verb}")
        ],
        ids=lambda path: path.stem,
    )
    def test_refusals(self, path: Path) -> None:
        failure = launchd.parse_failure(path.read_text())
        assert failure is not None
        number = path.stem.split("-")[1]
        assert not number.isdigit() or failure.number == int(number)

    @pytest.mark.parametrize("path", recorded("launchctl-print-disabled"), ids=lambda path: path.stem)
    def test_print_disabled(self, path: Path) -> None:
        said = path.read_text()
        assert len(launchd.parse_disabled(said)) == said.count("=>")

    @pytest.mark.parametrize("path", recorded("launchctl-limit"), ids=lambda path: path.stem)
    def test_limit(self, path: Path) -> None:
        said = path.read_text()
        limits = launchd.parse_limits(said)
        assert len(limits) == len(said.strip().splitlines())
        assert (limits["maxfiles"][0] or 0) >= 256

    @pytest.mark.parametrize("path", recorded("launchctl-list"), ids=lambda path: path.stem)
    def test_list(self, path: Path) -> None:
        rows = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("PID")]
        assert len(launchd.parse_list(path.read_text())) >= len(rows) - 1  # one case is cut in its last line

    @pytest.mark.parametrize("path", recorded("plutil-lint"), ids=lambda path: path.stem)
    def test_lint(self, path: Path) -> None:
        assert bool(launchd.parse_lint(path.read_text())) == ("error" in path.stem)
