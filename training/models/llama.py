"""A decoder in the style of Llama: RMS norm, rotary positions, grouped queries, SwiGLU, no biases.

Touvron et al., 2023, https://arxiv.org/abs/2307.09288; rotary positions: Su et al., 2021,
https://arxiv.org/abs/2104.09864. Projection names are those of `gpt.py`, with `gate` beside `up`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.models.lora import adapt
from training.schema_models import LlamaOptions

INIT_STD = 0.02


def rotary_table(length: int, head_dim: int, base: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """Cosines and sines, each (length, head_dim / 2), in float32: half precision loses the far positions."""
    frequencies = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float32, device=device) / head_dim)
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Turns the two halves of each head's vector by its position: (batch, heads, tokens, head_dim)."""
    first, second = x.float().chunk(2, dim=-1)
    turned = torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)
    return turned.to(x.dtype)


class Attention(nn.Module):
    """Causal attention in which several queries share one key and value head."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.head_dim = options.dim // options.heads
        shared = self.head_dim * options.key_value_heads
        self.query = nn.Linear(options.dim, options.dim, bias=False)
        self.key = nn.Linear(options.dim, shared, bias=False)
        self.value = nn.Linear(options.dim, shared, bias=False)
        self.output = nn.Linear(options.dim, options.dim, bias=False)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """(batch, tokens, dim) to the same shape."""
        batch, tokens, _ = x.shape
        query, key, value = (
            projection(x).view(batch, tokens, -1, self.head_dim).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        query, key = rotate(query, cosines, sines), rotate(key, cosines, sines)
        repeats = query.shape[1] // key.shape[1]
        if repeats > 1:
            key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        out: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, tokens, -1))
        return out


class FeedForward(nn.Module):
    """SwiGLU: one projection gates the other."""

    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, dim) to the same shape."""
        out: Tensor = self.down(functional.silu(self.gate(x)) * self.up(x))
        return out


class Block(nn.Module):
    """Attention and feed-forward, each on the normalised input and added to it."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(options.dim, eps=1e-5)
        self.attention = Attention(options)
        self.feed_forward_norm = nn.RMSNorm(options.dim, eps=1e-5)
        self.feed_forward = FeedForward(options.dim, options.hidden)

    def forward(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """(batch, tokens, dim) to the same shape."""
        x = x + self.attention(self.attention_norm(x), cosines, sines)
        out: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return out


class Llama(nn.Module):
    """Token embedding, blocks, last norm, linear head; with LoRA, all but the adapters is frozen."""

    def __init__(self, options: LlamaOptions) -> None:
        super().__init__()
        self.context, self.rotary_base = options.context, options.rotary_base
        self.head_dim = options.dim // options.heads
        self.tokens = nn.Embedding(options.vocabulary, options.dim)
        self.blocks = nn.ModuleList(Block(options) for _ in range(options.layers))
        self.norm = nn.RMSNorm(options.dim, eps=1e-5)
        self.head = nn.Linear(options.dim, options.vocabulary, bias=False)
        self.apply(self._initialise)
        if options.lora_rank:
            adapt(self, ("query", "value"), options.lora_rank, options.lora_alpha)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=INIT_STD)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of the next token at every place.

        Args:
            tokens: (batch, tokens) of int64, at most `context` long.

        Returns:
            (batch, tokens, vocabulary), not normalised.

        Raises:
            ValueError: The window is longer than the context.
        """
        length = tokens.shape[1]
        if length > self.context:
            raise ValueError(f"a window of {length} tokens does not fit model.context {self.context}")
        cosines, sines = rotary_table(length, self.head_dim, self.rotary_base, tokens.device)
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, cosines, sines)
        scores: Tensor = self.head(self.norm(x))
        return scores
