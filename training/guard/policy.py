"""What to do about a finding."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from training.errors import ReplicaError
from training.guard.finding import Finding


class Policy(Enum):
    """What the job asks for when a check fails."""

    STOP = "stop"
    FALLBACK = "fallback"
    WARN = "warn"


class Action(Enum):
    """What the caller has to do now."""

    GO_ON = "go on"
    STOP = "stop"
    USE_CPU = "use the CPU"
    SAY = "say so and go on"


def decide(finding: Finding, policy: Policy, device: str) -> Action:
    """The action that a policy asks for.

    Args:
        finding: Of a check.
        policy: Of the job.
        device: Where the rank computes. On the CPU there is nothing to fall back to, so it stops.
    """
    if finding.ok:
        return Action.GO_ON
    if policy is Policy.WARN:
        return Action.SAY
    if policy is Policy.FALLBACK and device != "cpu":
        return Action.USE_CPU
    return Action.STOP


def act(finding: Finding, policy: Policy, device: str, say: Callable[[str], None]) -> Action:
    """Decides, says it, and stops the run if that is the decision.

    All ranks must come to the same decision: pass findings that are agreed (`compare_replicas`), or agree on
    them first.

    Args:
        finding: Of a check.
        policy: Of the job.
        device: Where the rank computes.
        say: Receives the sentence.

    Returns:
        GO_ON, SAY, or USE_CPU: the caller then moves model and optimiser to the CPU.

    Raises:
        ReplicaError: The run must stop.
    """
    action = decide(finding, policy, device)
    if action is Action.STOP:
        raise ReplicaError(finding.sentence)
    if action is Action.USE_CPU:
        say(f"{finding.sentence} Going on with the CPU.")
    elif action is Action.SAY:
        say(f"{finding.sentence} Going on, as guard policy {policy.value} says.")
    return action
