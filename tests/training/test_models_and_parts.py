import pytest
import torch

from training.bench.sizes import format_size, parse_sizes
from training.components.loss import rank_loss, summed_loss
from training.components.optimizer import build_optimizer
from training.components.schedule import learning_rate
from training.device import check_versions, choose_device, torch_version
from training.distributed.diagnosis import diagnose, plain, wrapped_diagnosis
from training.distributed.fabric_view import FabricView
from training.errors import InputError
from training.models import build_model
from training.result import parameters_sha256
from training.schema import DigitsCnnOptions, GptOptions, OptimizerOptions, ScheduleOptions


def test_a_decoder_does_not_look_ahead() -> None:
    torch.manual_seed(0)
    model = build_model(GptOptions(layers=2, heads=2, dim=16, context=8))
    tokens = torch.randint(256, (1, 8))
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 256
    before, after = model(tokens), model(changed)
    assert torch.equal(before[0, :5], after[0, :5])
    assert not torch.allclose(before[0, 5:], after[0, 5:])


def test_a_window_longer_than_the_context_is_refused() -> None:
    model = build_model(GptOptions(layers=1, heads=1, dim=4, context=8))
    with pytest.raises(ValueError, match="9 tokens does not fit the context of 8"):
        model(torch.zeros(1, 9, dtype=torch.int64))


def test_a_cut_batch_gives_the_gradient_of_the_whole_one() -> None:
    torch.manual_seed(0)
    images, targets = torch.rand(10, 1, 8, 8), torch.randint(10, (10,))
    options = DigitsCnnOptions(width=4, hidden=8)
    torch.manual_seed(1)
    whole = build_model(options)
    rank_loss(summed_loss(whole(images), targets), 10, 1).backward()
    averaged = [torch.zeros_like(parameter) for parameter in whole.parameters()]
    # Three ranks with 5, 3 and 2 samples; averaging over ranks is what data parallelism does.
    for rows in (slice(0, 5), slice(5, 8), slice(8, 10)):
        torch.manual_seed(1)
        part = build_model(options)
        rank_loss(summed_loss(part(images[rows]), targets[rows]), 10, 3).backward()
        for total, parameter in zip(averaged, part.parameters(), strict=True):
            total += parameter.grad / 3
    for total, parameter in zip(averaged, whole.parameters(), strict=True):
        torch.testing.assert_close(total, parameter.grad, rtol=1e-4, atol=1e-7)


def test_the_learning_rate_rises_then_falls_to_its_fraction() -> None:
    options = ScheduleOptions(warmup_steps=10, final_fraction=0.1)
    rates = [learning_rate(options, 1.0, step, 110) for step in range(111)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == max(rates) == 1.0
    assert rates[60] == pytest.approx(0.55)
    assert rates[110] == pytest.approx(0.1)


def test_only_matrices_decay() -> None:
    model = build_model(DigitsCnnOptions(width=2, hidden=4))
    optimizer = build_optimizer(OptimizerOptions(weight_decay=0.3), model.parameters())
    decays = {
        parameter.ndim >= 2: group["weight_decay"] for group in optimizer.param_groups for parameter in group["params"]
    }
    assert decays == {True: 0.3, False: 0.0}


def test_the_hash_sees_a_change_in_the_last_bit() -> None:
    model = build_model(DigitsCnnOptions(width=2, hidden=4))
    before = parameters_sha256(model)
    assert parameters_sha256(model) == before
    with torch.no_grad():
        bias = model.classifier[3].bias
        bias[0] = torch.nextafter(bias[0], torch.tensor(1.0))
    assert parameters_sha256(model) != before


def test_sizes_are_read_and_written_as_people_do() -> None:
    assert parse_sizes("4KiB, 1MiB,12B") == [4096, 1048576, 12]
    assert [format_size(size) for size in (12, 4096, 1572864)] == ["12B", "4KiB", "1536KiB"]


@pytest.mark.parametrize("text", ["4KB", "", "0KiB", "6B", "-4KiB", "1.5MiB"])
def test_bad_sizes_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="--sizes"):
        parse_sizes(text)


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    with pytest.raises(InputError, match="device is mps, but this machine has only cpu"):
        choose_device("mps")


def test_the_gpu_of_a_mac_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto").type == "mps"


def test_old_versions_and_harmful_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_versions("cpu", 2)
    assert torch_version("2.13.0+cpu") == (2, 13)
    monkeypatch.setattr("platform.mac_ver", lambda: ("13.6", ("", "", ""), ""))
    with pytest.raises(InputError, match=r"macOS 13\.6 is too old for mps"):
        check_versions("mps", 1)
    monkeypatch.setattr("platform.mac_ver", lambda: ("15.1", ("", "", ""), ""))
    monkeypatch.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
    check_versions("mps", 1)
    with pytest.raises(InputError, match="PYTORCH_ENABLE_MPS_FALLBACK"):
        check_versions("mps", 2)
    monkeypatch.setattr("training.device.LEAST_TORCH", (99, 0))
    with pytest.raises(InputError, match=r"needs 99\.0 or later"):
        check_versions("cpu", 1)


GLOO = "[/w/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.77.0.3]:1702. This is typically GLHF"


def test_gloos_message_is_told_without_source_lines_and_advice() -> None:
    assert plain(GLOO) == "Connection closed by peer [10.77.0.3]:1702"


def test_the_address_in_gloos_message_becomes_a_rank_and_a_cable() -> None:
    view = FabricView(
        "10.77.0.1",
        ["mac1", "mac2", "mac3"],
        ["10.77.0.1", "10.77.0.2", "10.77.0.3"],
        {"mac3": ["port 2 to mac3 port 1"]},
    )
    sentence = diagnose(GLOO, what="all_reduce", rank=0, view=view, roll_call=None, timeout_s=60)
    assert sentence.startswith("rank 0 (mac1): all_reduce failed: a connection was lost.")
    assert "Look at rank 2 (mac3), by cable port 2 to mac3 port 1." in sentence


def test_a_diagnosis_is_found_again_inside_an_error_of_torch() -> None:
    assert wrapped_diagnosis("in the callback: CollectiveError: rank 0 (mac1): x\n\nAt:\n  y") == "rank 0 (mac1): x"
    assert wrapped_diagnosis(GLOO) is None
