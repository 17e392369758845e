"""The larger models that a job file may name. Sizes of the published ones are the defaults."""

from dataclasses import dataclass
from typing import Literal

from training.schema_option import option


@dataclass(frozen=True)
class ResnetOptions:
    """ResNet-18 or ResNet-50."""

    name: Literal["resnet"] = "resnet"
    depth: Literal[18, 50] = 50
    classes: int = option(1000, "give the number of classes, such as 1000", least=1, most=10**6)
    channels: int = option(3, "give the channels of an image, 3 for colour", least=1, most=64)
    small_images: bool = False


@dataclass(frozen=True)
class VitOptions:
    """A vision transformer; the defaults are ViT-B/16."""

    name: Literal["vit"] = "vit"
    image: int = option(224, "give the edge of an image in pixels, a multiple of model.patch", least=1, most=4096)
    patch: int = option(16, "give the edge of a patch in pixels, a divisor of model.image", least=1, most=4096)
    channels: int = option(3, "give the channels of an image, 3 for colour", least=1, most=64)
    classes: int = option(1000, "give the number of classes, such as 1000", least=1, most=10**6)
    layers: int = option(12, "give the number of blocks, such as 12", least=1, most=256)
    heads: int = option(12, "give the attention heads, a divisor of model.dim", least=1, most=256)
    dim: int = option(768, "give the width of a token, a multiple of model.heads", least=1, most=65536)


@dataclass(frozen=True)
class EncoderOptions:
    """A masked language model; the defaults are BERT-base's sizes over bytes and a mask token."""

    name: Literal["encoder"] = "encoder"
    vocabulary: int = option(257, "give the number of tokens, 257 for bytes and a mask", least=2, most=10**7)
    layers: int = option(12, "give the number of blocks, such as 12", least=1, most=256)
    heads: int = option(12, "give the attention heads, a divisor of model.dim", least=1, most=256)
    dim: int = option(768, "give the width of a token, a multiple of model.heads", least=1, most=65536)
    context: int = option(512, "give the longest window in tokens, at least data.window", least=2, most=1 << 20)


@dataclass(frozen=True)
class LlamaOptions:
    """A decoder in the style of Llama, with LoRA when `lora_rank` is not 0."""

    name: Literal["llama"] = "llama"
    vocabulary: int = option(256, "give the number of tokens, 256 for bytes", least=2, most=10**7)
    layers: int = option(12, "give the number of blocks, such as 12", least=1, most=256)
    heads: int = option(12, "give the attention heads, a divisor of model.dim", least=1, most=256)
    key_value_heads: int = option(4, "give the key and value heads, a divisor of model.heads", least=1, most=256)
    dim: int = option(768, "give the width of a token, a multiple of model.heads", least=2, most=65536)
    hidden: int = option(2048, "give the width of the feed-forward layer, such as 2048", least=1, most=10**6)
    context: int = option(1024, "give the longest window in tokens, at least data.window", least=2, most=1 << 20)
    rotary_base: float = option(10000.0, "give the base of the rotary positions, such as 10000", least=1, most=1e9)
    lora_rank: int = option(0, "give the rank of the adapters, 0 for none", least=0, most=4096)
    lora_alpha: float = option(16.0, "give the scale of the adapters, such as 16", least=0, most=1e6)
