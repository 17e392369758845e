"""The larger models: published sizes, causality, padding, adapters."""

import pytest
import torch

from training.models.encoder import Encoder, Vit
from training.models.llama import Llama
from training.models.lora import LoraLinear, adapt, merge
from training.models.resnet import Resnet
from training.schema_models import EncoderOptions, LlamaOptions, ResnetOptions, VitOptions

SMALL_LLAMA = LlamaOptions(layers=2, heads=4, key_value_heads=2, dim=32, hidden=48, context=16)


def count(model: torch.nn.Module, *, trained: bool = False) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad or not trained)


@pytest.mark.parametrize(
    ("options", "parameters"),
    # the sizes that torchvision's documentation gives for resnet18, resnet50 and vit_b_16
    [
        (ResnetOptions(depth=18), 11_689_512),
        (ResnetOptions(depth=50), 25_557_032),
        (VitOptions(), 86_567_656),
    ],
)
def test_sizes_are_the_published_ones(options: ResnetOptions | VitOptions, parameters: int) -> None:
    with torch.device("meta"):
        model = Resnet(options) if isinstance(options, ResnetOptions) else Vit(options)
    assert count(model) == parameters


def test_bert_base_has_twelve_blocks_of_its_published_width() -> None:
    # Devlin et al.: 110 M parameters with 30,522 tokens; a block has 7,087,872 of them.
    with torch.device("meta"):
        model = Encoder(EncoderOptions(vocabulary=30_522))
    assert sum(count(block) for block in model.blocks) == 12 * 7_087_872
    assert 109_000_000 < count(model) < 111_000_000


@pytest.mark.parametrize(("small", "edge"), [(True, 8), (False, 64)])
@pytest.mark.parametrize("depth", [18, 50])
def test_resnet_scores_every_image(depth: int, small: bool, edge: int) -> None:
    model = Resnet(ResnetOptions(depth=depth, classes=7, channels=1, small_images=small))
    scores = model(torch.randn(2, 1, edge, edge))
    assert scores.shape == (2, 7)
    scores.sum().backward()
    assert all(p.grad is not None for p in model.parameters())


def test_vit_refuses_images_of_another_size() -> None:
    model = Vit(VitOptions(image=16, patch=8, classes=3, layers=1, heads=2, dim=8))
    assert model(torch.randn(2, 3, 16, 16)).shape == (2, 3)
    with pytest.raises(ValueError, match=r"images of 16x24 do not fit model.image 16"):
        model(torch.randn(2, 3, 16, 24))


def test_padding_changes_nothing_for_the_other_tokens() -> None:
    torch.manual_seed(0)
    model = Encoder(EncoderOptions(layers=2, heads=2, dim=16, context=12)).eval()
    tokens = torch.randint(0, 256, (1, 8))
    padded = torch.cat([tokens, torch.full((1, 4), 5)], dim=1)
    keep = torch.arange(12)[None] < 8
    torch.testing.assert_close(model(padded, keep)[:, :8], model(tokens), rtol=1e-5, atol=1e-6)


def test_llama_does_not_look_ahead() -> None:
    torch.manual_seed(0)
    model = Llama(SMALL_LLAMA).eval()
    tokens = torch.randint(0, 256, (1, 10))
    changed = tokens.clone()
    changed[0, 6:] = (changed[0, 6:] + 1) % 256
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6:], after[:, 6:])


def test_llama_sees_the_order_of_tokens() -> None:
    torch.manual_seed(0)
    model = Llama(SMALL_LLAMA).eval()
    last = model(torch.tensor([[1, 2, 3, 9]]))[:, -1]
    assert not torch.allclose(last, model(torch.tensor([[2, 1, 3, 9]]))[:, -1], atol=1e-6)


@pytest.mark.parametrize("model", [Llama(SMALL_LLAMA), Encoder(EncoderOptions(layers=1, heads=2, dim=8, context=16))])
def test_a_window_beyond_the_context_is_refused(model: torch.nn.Module) -> None:
    with pytest.raises(ValueError, match=r"17 tokens does not fit model.context 16"):
        model(torch.zeros(1, 17, dtype=torch.int64))


def test_an_adapted_model_begins_as_its_base_and_trains_only_the_adapters() -> None:
    torch.manual_seed(0)
    base = Llama(SMALL_LLAMA)
    adapted = Llama(SMALL_LLAMA)
    adapted.load_state_dict(base.state_dict())
    assert adapt(adapted, ("query", "value"), rank=4, alpha=8.0) == 4
    tokens = torch.randint(0, 256, (2, 8))
    torch.testing.assert_close(adapted(tokens), base(tokens))
    adapted(tokens).sum().backward()
    trained = {name for name, p in adapted.named_parameters() if p.grad is not None}
    assert trained == {n for n, p in adapted.named_parameters() if p.requires_grad}
    assert all(name.endswith((".up", ".down")) and "feed_forward" not in name for name in trained)
    # two layers of query (32 to 32) and value (32 to 16), each with rank 4
    assert count(adapted, trained=True) == 2 * 4 * ((32 + 32) + (32 + 16))


def test_merged_adapters_compute_the_same_in_a_plain_model() -> None:
    torch.manual_seed(0)
    model = Llama(LlamaOptions(layers=2, heads=4, key_value_heads=2, dim=32, hidden=48, context=16, lora_rank=4))
    for module in model.modules():
        if isinstance(module, LoraLinear):
            torch.nn.init.normal_(module.up)
    tokens = torch.randint(0, 256, (2, 8))
    before = model(tokens)
    merge(model)
    assert not any(isinstance(module, LoraLinear) for module in model.modules())
    torch.testing.assert_close(model(tokens), before, rtol=1e-4, atol=1e-4)


def test_adapting_a_layer_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="no linear layer is named queri"):
        adapt(Llama(SMALL_LLAMA), ("queri",), rank=4, alpha=8.0)
