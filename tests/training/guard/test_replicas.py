import math

import pytest
import torch
from torch import nn

from tests.training.checkpoint.distributed_ranks import run_ranks
from training.guard.replicas import Replicas, compare_replicas, digest_of


def compare(group, rank, odd):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    if rank == odd:
        with torch.no_grad():
            # The least change there is.
            bits = model[0].bias.view(torch.int32)
            bits[2] ^= 1
    if rank == 0 and odd == "buffer":
        model[1].running_mean[0] = 1e-30
    finding = compare_replicas(model, group, [f"mac{number + 1}" for number in range(3)])
    return finding.ok, finding.odd, finding.first, finding.sentence


def test_identical_replicas_pass():
    answers = run_ranks(3, compare, None)
    assert answers == [(True, [], None, "The 3 replicas are identical.")] * 3


def test_one_bit_on_one_rank_is_found_by_all_and_named():
    answers = run_ranks(3, compare, 1)
    assert len(set(map(str, answers))) == 1
    ok, odd, first, sentence = answers[0]
    assert (ok, odd, first) == (False, ["mac2"], "0.bias")
    assert "mac2 is not like the others" in sentence


def test_buffers_count():
    ok, odd, first, _ = run_ranks(3, compare, "buffer")[2]
    assert (ok, odd, first) == (False, ["mac1"], "1.running_mean")


def test_between_two_ranks_there_is_no_majority():
    finding = Replicas(("mac1", "mac2"), ("a", "b"), "0.weight")
    assert finding.odd == []
    assert "no majority" in finding.sentence


def test_a_single_process_is_identical_to_itself():
    assert compare_replicas(nn.Linear(2, 2), None).ok


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (torch.zeros(2), -torch.zeros(2)),
        (torch.zeros(2), torch.zeros(1, 2)),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int32)),
    ],
)
def test_digests_see_signs_shapes_and_dtypes(one, other):
    assert digest_of({"it": one}) != digest_of({"it": other})


def test_digests_do_not_depend_on_strides_and_nan_equals_itself():
    matrix = torch.arange(6.0).view(2, 3)
    matrix[0, 0] = math.nan
    assert digest_of({"it": matrix}) == digest_of({"it": matrix.t().contiguous().t()})
    assert digest_of({"it": torch.empty(0)}) == digest_of({"it": torch.empty(0)})
