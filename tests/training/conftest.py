from collections.abc import Iterator

import pytest

from tests.training.rank_pool import RankPool


@pytest.fixture(scope="session")
def ranks() -> Iterator[RankPool]:
    """Three ranks with torch loaded and `unified` as the default group."""
    pool = RankPool(3)
    yield pool
    pool.close()


@pytest.fixture(scope="session")
def four_ranks() -> Iterator[RankPool]:
    """Four ranks, for two axes of two."""
    pool = RankPool(4)
    yield pool
    pool.close()
