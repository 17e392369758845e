"""Encoders of transformer blocks: one for images (ViT) and one for token sequences (BERT's size and shape).

ViT: Dosovitskiy et al., 2020, https://arxiv.org/abs/2010.11929. BERT: Devlin et al., 2018,
https://arxiv.org/abs/1810.04805. Names of the projections are those of `gpt.py`, so that one plan for tensor
parallelism serves all three.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.schema_models import EncoderOptions, VitOptions

INIT_STD = 0.02


class Attention(nn.Module):
    """Self-attention in both directions; the number of heads follows from the projections' width."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.head_dim = dim // heads
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.output = nn.Linear(dim, dim)

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """Mixes the tokens of each sample.

        Args:
            x: (batch, tokens, dim).
            keep: (batch, tokens) of bool, False for padding; None keeps all.
        """
        batch, tokens, _ = x.shape
        query, key, value = (
            projection(x).view(batch, tokens, -1, self.head_dim).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        mask = None if keep is None else keep[:, None, None, :]
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        out: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, tokens, -1))
        return out


class FeedForward(nn.Module):
    """Two linear layers with GELU between them, four times as wide inside."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, dim) to the same shape."""
        out: Tensor = self.down(functional.gelu(self.up(x)))
        return out


class Block(nn.Module):
    """Attention and feed-forward; the norm before (ViT) or after (BERT) each."""

    def __init__(self, dim: int, heads: int, *, norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.attention_norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.feed_forward_norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim)

    def forward(self, x: Tensor, keep: Tensor | None = None) -> Tensor:
        """(batch, tokens, dim) to the same shape; `keep` as in Attention."""
        if self.norm_first:
            x = x + self.attention(self.attention_norm(x), keep)
            out: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
            return out
        x = self.attention_norm(x + self.attention(x, keep))
        out = self.feed_forward_norm(x + self.feed_forward(x))
        return out


def initialise(module: nn.Module) -> None:
    """Normal weights and zero biases, as both papers have them (ViT's truncation left out)."""
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=INIT_STD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


class Vit(nn.Module):
    """Patches as tokens, a class token, blocks, and a head on the class token."""

    def __init__(self, options: VitOptions) -> None:
        super().__init__()
        patches = (options.image // options.patch) ** 2
        self.image = options.image
        self.patches = nn.Conv2d(options.channels, options.dim, options.patch, options.patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, options.dim))
        self.positions = nn.Parameter(torch.randn(1, patches + 1, options.dim) * INIT_STD)
        self.blocks = nn.ModuleList(Block(options.dim, options.heads, norm_first=True) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.dim)
        self.head = nn.Linear(options.dim, options.classes)
        self.apply(initialise)

    def forward(self, images: Tensor) -> Tensor:
        """(batch, channels, image, image) to (batch, classes), not normalised.

        Raises:
            ValueError: The images have another size than the model was made for.
        """
        if images.shape[-2:] != (self.image, self.image):
            size = "x".join(map(str, images.shape[-2:]))
            raise ValueError(f"images of {size} do not fit model.image {self.image}: resize them, or change it")
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.head(self.norm(x)[:, 0])
        return scores


class Encoder(nn.Module):
    """BERT: token and position embeddings, blocks, and a head that scores the vocabulary at every place.

    The head's weights are the token embedding's, as in the paper's masked language model.
    """

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        self.context = options.context
        self.tokens = nn.Embedding(options.vocabulary, options.dim)
        self.positions = nn.Embedding(options.context, options.dim)
        self.embedding_norm = nn.LayerNorm(options.dim)
        self.blocks = nn.ModuleList(Block(options.dim, options.heads, norm_first=False) for _ in range(options.layers))
        self.transform = nn.Sequential(nn.Linear(options.dim, options.dim), nn.GELU(), nn.LayerNorm(options.dim))
        self.bias = nn.Parameter(torch.zeros(options.vocabulary))
        self.apply(initialise)

    def forward(self, tokens: Tensor, keep: Tensor | None = None) -> Tensor:
        """Scores of every token of the vocabulary at every place.

        Args:
            tokens: (batch, tokens) of int64.
            keep: (batch, tokens) of bool, False for padding; None keeps all.

        Returns:
            (batch, tokens, vocabulary), not normalised.

        Raises:
            ValueError: The window is longer than the context.
        """
        length = tokens.shape[1]
        if length > self.context:
            raise ValueError(f"a window of {length} tokens does not fit model.context {self.context}")
        x = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        x = self.embedding_norm(x)
        for block in self.blocks:
            x = block(x, keep)
        return functional.linear(self.transform(x), self.tokens.weight, self.bias)
