"""Every way to divide a model gives what one process gives: parameters after 20 steps, float32."""

import pytest

from tests.training import parallel_tasks as tasks
from tests.training.rank_pool import RankPool
from training.distributed.parallel_dims import ParallelDims
from training.errors import InputError

CLOSE = 1e-5


def test_data_parallel(four_ranks: RankPool) -> None:
    assert max(four_ranks.run(tasks.data_parallel)) < CLOSE


@pytest.mark.parametrize(
    "sizes",
    [
        {"shard": 4},
        {"replicate": 2, "shard": 2},
        {"tensor": 4},
        {"shard": 2, "tensor": 2},
        {"replicate": 2, "tensor": 2},
    ],
    ids=str,
)
def test_sharded_and_tensor_parallel(four_ranks: RankPool, sizes: dict[str, int]) -> None:
    assert max(four_ranks.run(tasks.on_a_mesh, sizes)) < CLOSE


@pytest.mark.parametrize(
    ("sizes", "stages_a_rank"),
    [
        ({"pipeline": 4}, 1),
        ({"pipeline": 2, "tensor": 2}, 1),
        ({"pipeline": 2, "tensor": 2}, 2),
    ],
    ids=str,
)
def test_pipeline(four_ranks: RankPool, sizes: dict[str, int], stages_a_rank: int) -> None:
    answers = four_ranks.run(tasks.in_a_pipeline, sizes, stages_a_rank)
    assert max(worst for worst, _ in answers) < CLOSE
    tensor = sizes.get("tensor", 1)
    assert all(loss == -1.0 for _, loss in answers[:-tensor])
    assert all(0 < loss < 6 for _, loss in answers[-tensor:])


@pytest.mark.parametrize(("outer_lr", "momentum"), [(1.0, 0.0), (0.7, 0.9)])
def test_local_steps_meet_where_the_outer_optimiser_says(
    four_ranks: RankPool, outer_lr: float, momentum: float
) -> None:
    for distance, agreed in four_ranks.run(tasks.local_steps, outer_lr, momentum):
        assert distance < CLOSE
        assert agreed


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="pipeline 1 x replicate 1 x shard 3 x tensor 1 is 3 ranks, but there are 4"):
        ParallelDims(4, shard=3)
    with pytest.raises(InputError, match=r"parallel\.tensor is 0"):
        ParallelDims(4, shard=4, tensor=0)
    with pytest.raises(InputError, match="only 3 layers"):
        ParallelDims(4, pipeline=4).check_layers(3)
    with pytest.raises(InputError, match="does not divide the model's 6 heads"):
        ParallelDims(4, tensor=4).check_heads(6)


def test_ranks_that_talk_most_are_neighbours() -> None:
    dims = ParallelDims(8, pipeline=2, shard=2, tensor=2)
    assert [dims.data_rank(rank) for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert [dims.stage(rank) for rank in range(8)] == [0, 0, 0, 0, 1, 1, 1, 1]
