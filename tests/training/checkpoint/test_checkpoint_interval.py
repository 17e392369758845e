import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.checkpoint.interval import DEFAULT_INTERVAL_S, choose, daly_s, young_s
from training.checkpoint.pacer import Pacer, next_question


def lost_fraction(interval_s, cost_s, mtbf_s):
    """Expected time over useful time, failures being a Poisson process (Daly 2006, equation 20, no restart)."""
    return mtbf_s * (math.exp((interval_s + cost_s) / mtbf_s) - 1) / interval_s - 1


def test_young_of_a_known_case():
    assert young_s(5, 1000) == 100


@pytest.mark.parametrize(("cost_s", "mtbf_s"), [(1, 86_400), (30, 3600), (300, 3600), (60, 7 * 86_400)])
def test_daly_is_at_the_minimum_of_the_lost_time(cost_s, mtbf_s):
    candidates = [math.exp(math.log(mtbf_s) * part / 4000) for part in range(4000)]
    best = min(candidates, key=lambda interval: lost_fraction(interval, cost_s, mtbf_s))
    optimum = lost_fraction(daly_s(cost_s, mtbf_s), cost_s, mtbf_s)
    assert optimum == pytest.approx(lost_fraction(best, cost_s, mtbf_s), rel=2e-3)


@given(st.floats(0.001, 10), st.floats(10_000, 10**7))
def test_a_cheap_checkpoint_makes_both_formulas_alike(cost_s, mtbf_s):
    assert daly_s(cost_s, mtbf_s) == pytest.approx(young_s(cost_s, mtbf_s), rel=0.04)


def test_when_a_checkpoint_takes_longer_than_two_failures_are_apart():
    assert daly_s(100, 50) == 50


@pytest.mark.parametrize(("cost_s", "mtbf_s"), [(0, 1), (1, 0), (-1, 1), (math.nan, 1), (1, math.inf)])
def test_no_interval_from_nonsense(cost_s, mtbf_s):
    with pytest.raises(ValueError, match="positive"):
        young_s(cost_s, mtbf_s)
    with pytest.raises(ValueError, match="positive"):
        daly_s(cost_s, mtbf_s)


def test_a_quarter_of_an_hour_until_something_is_measured():
    assert choose(None, stall_s=None, write_s=None, mtbf_s=3600).seconds == DEFAULT_INTERVAL_S == 900
    unknown = choose(None, stall_s=1, write_s=10, mtbf_s=None)
    assert unknown.seconds == 900
    assert "unknown" in unknown.reason


def test_what_is_configured_counts_but_saves_never_overlap():
    assert choose(60, stall_s=1, write_s=10, mtbf_s=3600).seconds == 60
    slow = choose(60, stall_s=1, write_s=45, mtbf_s=3600)
    assert slow.seconds == 90
    assert "takes 45.0 s" in slow.reason


def test_the_optimum_is_used_and_explained():
    chosen = choose(None, stall_s=0.5, write_s=10, mtbf_s=86_400)
    assert chosen.seconds == daly_s(0.5, 86_400)
    assert "stall of 0.5 s" in chosen.reason


@settings(deadline=None)
@given(st.floats(0.001, 100), st.integers(1, 2000))
def test_few_questions_an_interval_and_a_save_soon_after_it(step_s, steps):
    interval_s = step_s * steps
    now_s, questions = 0.0, 0

    def clock():
        nonlocal questions
        questions += 1
        return now_s

    pacer = Pacer(0, interval_s, clock=clock)
    step, questions = 0, 0
    while True:
        step, now_s = step + 1, (step + 1) * step_s
        if pacer.due(step):
            break
    assert now_s >= interval_s
    # At most the step in which the interval ends, and one for rounding.
    assert now_s <= interval_s + 2 * step_s
    assert questions <= math.log2(steps + 1) + 4


def test_steps_that_become_slower_are_noticed_before_the_interval_is_far_over():
    now_s = 0.0
    pacer = Pacer(0, 100.0, clock=lambda: now_s)
    step = 0
    while True:
        step += 1
        now_s += 0.1 if step <= 20 else 1.0
        if pacer.due(step):
            break
    # At step 16 the pace promised 84 s in 840 steps; half of those take 420 s at the new pace at most.
    assert 100 <= now_s <= 500


def test_the_first_step_is_never_due_without_time():
    assert next_question(5, 0.0, 0, 10.0) == 6
    assert next_question(5, 10.0, 5, 10.0) is None
    assert next_question(100, 1.0, 100, 11.0) == 600


def test_after_a_save_a_new_interval_begins():
    now_s = 0.0
    pacer = Pacer(0, 10.0, clock=lambda: now_s)
    now_s = 10.0
    assert pacer.due(1)
    pacer.restart(1)
    assert not pacer.due(2)
    now_s = 20.0
    assert any(pacer.due(step) for step in range(3, 9))
