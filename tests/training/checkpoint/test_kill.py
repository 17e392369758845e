from tools.bench.kill_run import trial

KILLS = 10


def test_after_ten_kills_every_loss_is_that_of_the_uninterrupted_run(tmp_path):
    outcome = trial(tmp_path, KILLS, seed=4, steps=200)
    assert len(outcome.resumed_at) == KILLS + 1
    # It got ahead although it was killed, and never fell behind a checkpoint that it had resumed from.
    assert outcome.resumed_at == sorted(outcome.resumed_at)
    assert outcome.resumed_at[-1] > 0
    assert outcome.compared > 2 * outcome.resumed_at[-1]
    assert outcome.differing == []
