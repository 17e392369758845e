"""Rank order: a ring along the cables exactly where there is one, and else the fewest cables."""

import itertools

import networkx as nx
import pytest
from espalier import fabric_ring
from espalier.fabric_paths import hop_counts, neighbours_of, parts
from espalier.fabric_ring import rank_order, total_hops
from hypothesis import given, settings
from hypothesis import strategies as st

Edges = list[tuple[int, int]]


def edges_of(size: int) -> st.SearchStrategy[Edges]:
    return st.lists(st.sampled_from(list(itertools.combinations(range(size), 2))), max_size=3 * size)


graphs = st.integers(3, 8).flatmap(lambda size: st.tuples(st.just(size), edges_of(size)))


def order_of(size: int, edges: Edges) -> tuple[list[int], int | None]:
    neighbours = neighbours_of(size, edges)
    hops = hop_counts(neighbours)
    order = rank_order(neighbours, hops)
    return order, total_hops(order, hops)


def fewest(size: int, edges: Edges) -> int | None:
    """Over every order there is."""
    hops = hop_counts(neighbours_of(size, edges))
    totals = [total_hops([0, *rest], hops) for rest in itertools.permutations(range(1, size))]
    return min((total for total in totals if total is not None), default=None)


@settings(max_examples=150, deadline=None)
@given(st.integers(3, 7).flatmap(lambda size: st.tuples(st.just(size), edges_of(size))))
def test_the_order_has_the_fewest_cables(graph: tuple[int, Edges]) -> None:
    size, edges = graph
    order, total = order_of(size, edges)
    assert sorted(order) == list(range(size))
    assert order[0] == 0
    assert total == fewest(size, edges)


@settings(max_examples=150, deadline=None)
@given(graphs)
def test_a_ring_of_cables_exactly_where_there_is_one(graph: tuple[int, Edges]) -> None:
    size, edges = graph
    _, total = order_of(size, edges)
    assert (total == size) == has_ring(size, edges)


def has_ring(size: int, edges: Edges) -> bool:
    """By networkx: one of the simple cycles passes every node."""
    cycles = nx.simple_cycles(nx.Graph(edges))
    return any(len(cycle) == size for cycle in cycles)


@settings(max_examples=100, deadline=None)
@given(graphs)
def test_the_order_does_not_depend_on_how_cables_are_listed(graph: tuple[int, Edges]) -> None:
    size, edges = graph
    turned = [(second, first) for first, second in reversed(edges)]
    assert order_of(size, edges) == order_of(size, turned + edges[:1])


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("ring of 63", nx.cycle_graph(63)),
        ("torus 7 x 9", nx.convert_node_labels_to_integers(nx.grid_2d_graph(7, 9, periodic=True))),
        ("mesh of 40", nx.complete_graph(40)),
        ("random with 252 cables", nx.random_regular_graph(8, 63, seed=1)),
    ],
)
def test_beyond_the_exact_search_usual_cablings_still_give_a_ring(name: str, graph: "nx.Graph[int]") -> None:
    size = len(graph)
    assert order_of(size, list(graph.edges))[1] == size, name


@pytest.mark.parametrize("size", [13, 17, 40, 63])
def test_in_a_tree_every_cable_is_passed_twice_and_no_more(size: int) -> None:
    tree = nx.random_labeled_tree(size, seed=size)
    assert order_of(size, list(tree.edges))[1] == 2 * (size - 1)


@settings(max_examples=60, deadline=None)
@given(graphs)
def test_the_bounded_searches_agree_with_the_exact_ones_or_are_worse(graph: tuple[int, Edges]) -> None:
    size, edges = graph
    neighbours = neighbours_of(size, edges)
    searched, exact = fabric_ring._searched_ring(neighbours), fabric_ring._exact_ring(neighbours)
    assert (searched is None) == (exact is None)  # so small that the bound is never reached
    if searched:
        assert total_hops(searched, hop_counts(neighbours)) == size


def test_a_fabric_in_parts_keeps_each_part_together() -> None:
    order, total = order_of(5, [(0, 3), (1, 2), (2, 4)])
    assert total is None
    assert order.index(3) in (1, 4)
    assert parts(neighbours_of(5, [(0, 3), (1, 2), (2, 4)])) == [[0, 3], [1, 2, 4]]


def test_one_node_and_two() -> None:
    assert order_of(1, []) == ([0], 0)
    assert order_of(2, [(0, 1)]) == ([0, 1], 2)
