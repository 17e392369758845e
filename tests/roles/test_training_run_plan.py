"""Who takes part in a run."""

import pytest
from espalier.run_plan import choose_ring

RING = ["mac1", "mac3", "mac2"]


def test_all_are_chosen_in_rank_order() -> None:
    assert choose_ring(RING, "all", ["mac1", "mac2", "mac3"]) == RING


def test_a_choice_keeps_the_rank_order_whatever_the_order_of_the_names() -> None:
    assert choose_ring(RING, " mac2, mac1", RING) == ["mac1", "mac2"]


@pytest.mark.parametrize(
    ("wanted", "reachable", "message"),
    [
        ("mca1", RING, "mca1 is not in the ring .*Did you mean mac1"),
        ("", RING, "training_nodes is empty"),
        ("all", ["mac1"], "mac3, mac2 would take part, but this run leaves it out"),
    ],
)
def test_a_choice_that_cannot_be_met_says_so(wanted: str, reachable: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        choose_ring(RING, wanted, reachable)
