"""The roles' variables, their defaults and their documentation say the same."""

from tools import role_docs


def test_every_role_agrees_with_its_documentation() -> None:
    assert role_docs.main(["--check"]) == 0


def test_a_default_that_differs_is_named() -> None:
    options = {"demo_size": {"type": "int", "default": 3}}
    (problem,) = role_docs.problems("demo", options, {"demo_size": 4})
    assert "demo_size is 4 in defaults and 3 in argument_specs" in problem


def test_a_key_without_a_twin_is_named_on_either_side() -> None:
    found = role_docs.problems("demo", {"demo_a": {"default": 1}}, {"demo_b": 2})
    assert any("defaults/main.yml: demo_a is missing" in line for line in found)
    assert any("argument_specs.yml: demo_b is missing" in line for line in found)


def test_a_variable_of_another_role_is_refused() -> None:
    assert "does not begin with demo_" in role_docs.problems("demo", {"x": {"default": 1}}, {"x": 1})[0]


def test_a_pipe_in_a_description_stays_in_its_cell() -> None:
    text = role_docs.table({"demo_a": {"description": "this | that", "default": 1}}, {"demo_a": 1})
    assert "this \\| that" in text


def test_only_the_part_between_the_markers_is_replaced() -> None:
    readme = f"# Title\n{role_docs.BEGIN}\nold\n{role_docs.END}\ntail\n"
    assert (
        role_docs.rewritten(readme, "new", "README.md") == f"# Title\n{role_docs.BEGIN}\nnew\n{role_docs.END}\ntail\n"
    )
