"""What machines say of themselves, judged; and clocks, from questions and answers."""

from dataclasses import replace

import pytest
from espalier.clock_skew import Asked, Skew, clock_skew
from espalier.machine_check import Machine, check_lines, check_machine
from hypothesis import given
from hypothesis import strategies as st

MAC = Machine(
    name="mac1",
    is_mac=True,
    declared_model="Mac16,11",
    system="Darwin",
    distribution="MacOSX",
    version="14.5",
    model="Mac16,11",
    address="192.168.1.11",
    python="3.9.6",
    become_problem="",
    skew=Skew(0.1, 0.02),
)
BOX = replace(MAC, name="box", is_mac=False, system="Linux", distribution="Debian", version="12.11", model="")


def codes(machine: Machine, most_skew_s: float = 2.0) -> list[str]:
    return [finding.code for finding in check_machine(machine, most_skew_s, "10.77.0.0/16")]


@pytest.mark.parametrize("machine", [MAC, BOX, replace(MAC, declared_model=None), replace(MAC, version="26.1")])
def test_fit_machines(machine: Machine) -> None:
    assert codes(machine) == []


@pytest.mark.parametrize(
    ("machine", "code", "said"),
    [
        (replace(MAC, python="3.8.10"), "python-old", "3.8.10, older than 3.9"),
        (replace(MAC, become_problem="a password is required"), "privilege", "-K"),
        (replace(MAC, version="13.6.1"), "system-old", "13.6.1 is older than 14"),
        (replace(MAC, system="Linux", distribution="Debian"), "system-group", "wrong group (macs)"),
        (replace(BOX, system="Darwin"), "system-group", "wrong group (heads)"),
        (replace(BOX, distribution="Fedora"), "system-unknown", "Fedora is not one of Debian and Ubuntu"),
        (replace(MAC, declared_model="Mac16,10"), "model-other", "Write espalier_model: Mac16,11"),
        (replace(MAC, skew=Skew(3.0, 0.1)), "clock-skew", "3.0 s ahead of"),
        (replace(MAC, skew=Skew(-3.0, 0.1)), "clock-skew", "sntp"),
        (replace(BOX, skew=Skew(-3.0, 0.1)), "clock-skew", "timedatectl"),
        (replace(MAC, address="10.77.3.4"), "network-overlap", "10.77.3.4"),
    ],
)
def test_what_is_not_fit_is_one_finding_that_names_the_host(machine: Machine, code: str, said: str) -> None:
    findings = check_machine(machine, 2.0, "10.77.0.0/16")
    assert [finding.code for finding in findings] == [code]
    assert said in findings[0].to_dict()["text"]
    assert findings[0].host == machine.name


def test_a_skew_within_the_error_of_measurement_is_no_finding() -> None:
    assert codes(replace(MAC, skew=Skew(3.0, 1.5))) == []


def test_one_line_a_check_that_names_the_wrong_ones() -> None:
    old = replace(MAC, name="mac2", version="13.1")
    lines = check_lines([MAC, old], check_machine(old, 2.0, "10.77.0.0/16"))
    assert [line.split()[0] for line in lines] == [
        "python",
        "privilege",
        "system",
        "model",
        "clock",
        "network",
    ]
    assert "WRONG on mac2" in lines[2]
    assert "ok on 2 machines" in lines[3]


@given(
    st.floats(-1e4, 1e4),
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=5),
)
def test_the_true_skew_is_within_what_is_said(true_s: float, ways: list[tuple[float, float]]) -> None:
    asked = [Asked(100.0, 100.0 + there_s + true_s, 100.0 + there_s + back_s) for there_s, back_s in ways]
    skew = clock_skew(asked)
    assert abs(skew.skew_s - true_s) <= skew.within_s + 1e-6


def test_the_quickest_answer_counts_and_none_is_an_error() -> None:
    slow, quick = Asked(0.0, 9.0, 10.0), Asked(0.0, 0.05, 0.1)
    assert clock_skew([slow, quick]).within_s == pytest.approx(0.05)
    with pytest.raises(ValueError, match="one answer"):
        clock_skew([])
