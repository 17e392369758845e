from tests.training.checkpoint.kill_run import trial

KILLS = 10


def test_after_ten_kills_every_loss_is_that_of_the_uninterrupted_run(tmp_path):
    reference, killed, resumed = trial(tmp_path, KILLS, seed=4, reference_steps=150)
    assert len(resumed) == KILLS + 1
    # It got ahead although it was killed, and never fell behind a checkpoint that it had resumed from.
    assert resumed == sorted(resumed)
    assert resumed[-1] > 0
    common = set(reference) & set(killed)
    assert len(common) > 2 * resumed[-1]
    differing = {key for key in common if killed[key] != reference[key]}
    assert not differing
