from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.checkpoint.layout import (
    Entry,
    is_leftover,
    newest_first,
    parse_step,
    retired_name,
    scan,
    share_of_files,
    step_name,
    superfluous,
    temporary_name,
)


@given(st.integers(0, 10**18 - 1))
def test_a_name_stands_for_its_step(step):
    assert parse_step(step_name(step)) == step


def test_names_sort_like_steps_up_to_99999999():
    assert step_name(1200) == "step-00001200"
    assert sorted(map(step_name, (10**7, 9, 10**6))) == [step_name(9), step_name(10**6), step_name(10**7)]


@pytest.mark.parametrize("step", [-1, 10**18])
def test_a_step_without_a_name_is_an_error(step):
    with pytest.raises(ValueError, match="has no folder name"):
        step_name(step)


@pytest.mark.parametrize(
    "name",
    [
        "step-1",
        "step-0000000012",  # step 12 has one name, and that is another
        "step-" + "9" * 5000,
        "step-00000001\n",
        "step-0000000\N{ARABIC-INDIC DIGIT ONE}",
        "step--0000001",
        "step-../../etc",
        "._step-00000001",
        ".tmp-step-00000001-ab",
        "Step-00000001",
        "step-00000001.bak",
        "",
    ],
)
def test_other_names_are_no_checkpoints(name):
    assert parse_step(name) is None


def test_leftovers_are_told_from_what_belongs_to_others():
    assert is_leftover(temporary_name(7, "ab12"))
    assert is_leftover(retired_name(10**12, "ab12"))
    for name in (".tmp-something", ".old-", ".tmp-step-7-ab", "step-00000007", ".snapshots", ".nfs0001"):
        assert not is_leftover(name)


def entries(*steps, damaged=()):
    return [Entry(step, Path(step_name(step)), problem="x" if step in damaged else None) for step in steps]


def steps_of(found):
    return [entry.step for entry in found]


def test_newest_first_goes_by_number():
    assert steps_of(newest_first(entries(9, 10**9, 10**8))) == [10**9, 10**8, 9]


def test_keep_counts_usable_checkpoints_only():
    every = entries(1, 2, 3, 4, 5, damaged=(5, 3))
    assert steps_of(superfluous(every, 1)) == [3, 2, 1]
    assert steps_of(superfluous(every, 2)) == [1]
    assert superfluous(every, 3) == []
    assert superfluous(every, 9) == []


@given(st.sets(st.integers(0, 50)), st.sets(st.integers(0, 50)), st.integers(1, 5))
def test_the_newest_usable_are_never_removed(steps, damaged, keep):
    every = entries(*steps, damaged=damaged)
    removed = set(steps_of(superfluous(every, keep)))
    usable = sorted((step for step in steps if step not in damaged), reverse=True)
    assert not removed & set(usable[:keep])


def test_keeping_none_is_an_error():
    with pytest.raises(ValueError, match="at least 1"):
        superfluous([], 0)


@given(st.sets(st.text(min_size=1)), st.integers(1, 7))
def test_all_ranks_together_check_each_file_once(names, world_size):
    shares = [share_of_files(names, rank, world_size) for rank in range(world_size)]
    assert sorted(name for share in shares for name in share) == sorted(names)


def test_a_folder_that_does_not_exist_has_no_checkpoints(tmp_path):
    assert scan(tmp_path / "none") == []


def test_files_and_links_with_the_name_of_a_checkpoint_are_no_checkpoints(tmp_path):
    (tmp_path / step_name(1)).write_text("x")
    (tmp_path / step_name(2)).symlink_to("/etc")
    assert [entry.problem for entry in scan(tmp_path)] == ["it is not a folder"] * 2
