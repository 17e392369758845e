import pytest

from tests.training import group_tasks as tasks
from tests.training.rank_pool import RankPool

WAYS = ["direct", "staged", "alias"]


@pytest.mark.parametrize("way", WAYS)
def test_every_collective_gives_what_gloo_gives(ranks: RankPool, way: str) -> None:
    for rank, equal in enumerate(ranks.run(tasks.compare, way)):
        wrong = [name for name, same in equal.items() if not same]
        assert not wrong, f"rank {rank}: {wrong}"
        assert set(equal) == set(tasks.COLLECTIVES)


@pytest.mark.parametrize("way", WAYS)
def test_calls_that_gloo_lacks_follow_their_definition(ranks: RankPool, way: str) -> None:
    for equal in ranks.run(tasks.beyond_gloo, way):
        assert equal == dict.fromkeys(tasks.UNKNOWN_TO_GLOO, True)


@pytest.mark.parametrize("bucket_view", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_data_parallel_equals_one_process(ranks: RankPool, way: str, bucket_view: bool) -> None:
    assert max(ranks.run(tasks.ddp, way, bucket_view)) < 1e-6


def test_sharded_data_parallel_equals_one_process(ranks: RankPool) -> None:
    assert max(ranks.run(tasks.fsdp)) < 1e-6


def test_staging_happens_on_the_callers_thread_alone(ranks: RankPool) -> None:
    assert ranks.run(tasks.staged_threads) == [True, True, True]


def test_a_future_comes_back_before_the_peers_have_started(ranks: RankPool) -> None:
    assert ranks.run(tasks.future_does_not_block) == [(True, True)] * 3


def test_a_subgroup_leaves_the_others_alone(ranks: RankPool) -> None:
    assert ranks.run(tasks.subgroup) == [4.0, 2.0, 4.0]


def test_a_rank_that_never_comes_is_named_with_its_cable(ranks: RankPool) -> None:
    first, second, third = ranks.run(tasks.missing_rank)
    for message, own in ((first, "rank 0 (mac1)"), (second, "rank 1 (mac2)")):
        assert message.startswith(f"{own}: all_reduce number 1 of 40 bytes failed: no answer within 1 s")
        assert "Look at rank 2 (mac3), by cable port 2 to mac3 port 1" in message
    assert third == ""


@pytest.mark.parametrize("way", WAYS)
def test_a_peer_that_is_missing_in_a_backward_pass_is_an_error_and_not_a_crash(ranks: RankPool, way: str) -> None:
    first, second, _ = ranks.run(tasks.backward_without_a_peer, way)
    assert "imed out" in first
    assert "imed out" in second


def test_staging_buffers_are_used_again(ranks: RankPool) -> None:
    assert ranks.run(tasks.buffers_are_used_again, ranks=1) == [(True, True, 80)]
