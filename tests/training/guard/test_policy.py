from dataclasses import dataclass

import pytest

from training.errors import ReplicaError
from training.guard.policy import Action, Policy, act, decide


@dataclass
class Found:
    ok: bool
    sentence: str = "The gradients of mps:0 are not the CPU's."


@pytest.mark.parametrize("policy", list(Policy))
def test_a_good_finding_changes_nothing(policy):
    said = []
    assert act(Found(True), policy, "mps", said.append) is Action.GO_ON
    assert said == []


def test_stop_ends_the_run_with_the_sentence():
    with pytest.raises(ReplicaError, match="not the CPU's"):
        act(Found(False), Policy.STOP, "mps", print)


def test_fallback_goes_to_the_cpu_and_says_so():
    said = []
    assert act(Found(False), Policy.FALLBACK, "mps", said.append) is Action.USE_CPU
    assert said == ["The gradients of mps:0 are not the CPU's. Going on with the CPU."]


def test_there_is_nothing_to_fall_back_to_on_the_cpu():
    assert decide(Found(False), Policy.FALLBACK, "cpu") is Action.STOP


def test_warn_goes_on_and_says_so():
    said = []
    assert act(Found(False), Policy.WARN, "cpu", said.append) is Action.SAY
    assert "Going on, as guard policy warn says." in said[0]
