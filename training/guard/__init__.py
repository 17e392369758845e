"""The numeric guard: wrong numbers are found before they are trained on for a night.

`setup_of` and `check` refuse combinations that are known to compute wrongly, `replay` computes the gradients
of one micro-batch again on the CPU, `compare_replicas` looks for a rank that drifted, `count_nonfinite` for
infinities and NaN. Each returns a finding; `act` does with it what the policy says.
"""

from training.guard.finding import Finding
from training.guard.finite import NonFinite, count_nonfinite
from training.guard.known_bad import KNOWN_BAD, KnownBad, Setup, check, setup_of
from training.guard.policy import Action, Policy, act, decide
from training.guard.replay import Replay, replay
from training.guard.replicas import Replicas, compare_replicas

__all__ = [
    "KNOWN_BAD",
    "Action",
    "Finding",
    "KnownBad",
    "NonFinite",
    "Policy",
    "Replay",
    "Replicas",
    "Setup",
    "act",
    "check",
    "compare_replicas",
    "count_nonfinite",
    "decide",
    "replay",
    "setup_of",
]
