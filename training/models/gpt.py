"""A decoder over byte tokens: pre-norm blocks of causal attention and a feed-forward layer.

Projections that belong together in tensor parallelism have names of their own (`query`, `key`, `value`,
`output`, `up`, `down`), so that a plan can address them; nothing here knows of such a plan.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from training.schema import GptOptions

VOCABULARY = 256
INIT_STD = 0.02


class Attention(nn.Module):
    """Causal self-attention. The number of heads follows from the width of the projections' output."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.head_dim = dim // heads
        self.query = nn.Linear(dim, dim, bias=False)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim, bias=False)
        self.output = nn.Linear(dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Mixes each token with those before it: (batch, tokens, dim) to the same shape."""
        batch, tokens, _ = x.shape
        query, key, value = (
            projection(x).view(batch, tokens, -1, self.head_dim).transpose(1, 2)
            for projection in (self.query, self.key, self.value)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        out: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, tokens, -1))
        return out


class FeedForward(nn.Module):
    """Two linear layers with GELU between them, four times as wide inside."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.up = nn.Linear(dim, 4 * dim, bias=False)
        self.down = nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, dim) to the same shape."""
        out: Tensor = self.down(functional.gelu(self.up(x)))
        return out


class Block(nn.Module):
    """Attention and feed-forward, each on the normalised input and added to it."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim)
        self.attention = Attention(dim, heads)
        self.feed_forward_norm = nn.LayerNorm(dim)
        self.feed_forward = FeedForward(dim)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, tokens, dim) to the same shape."""
        x = x + self.attention(self.attention_norm(x))
        out: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return out


class Gpt(nn.Module):
    """Token and position embedding, blocks, a last norm, and a linear head."""

    def __init__(self, options: GptOptions) -> None:
        super().__init__()
        self.context = options.context
        self.tokens = nn.Embedding(VOCABULARY, options.dim)
        self.positions = nn.Embedding(options.context, options.dim)
        self.blocks = nn.ModuleList(Block(options.dim, options.heads) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.dim)
        self.head = nn.Linear(options.dim, VOCABULARY, bias=False)
        self.apply(self._initialise)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=INIT_STD)

    def forward(self, tokens: Tensor) -> Tensor:
        """Scores of the next byte at every place.

        Args:
            tokens: (batch, tokens) of int64 below 256, at most `context` long.

        Returns:
            (batch, tokens, 256), not normalised.

        Raises:
            ValueError: The window is longer than the context.
        """
        length = tokens.shape[1]
        if length > self.context:
            raise ValueError(f"a window of {length} tokens does not fit the context of {self.context}")
        x = self.tokens(tokens) + self.positions(torch.arange(length, device=tokens.device))
        for block in self.blocks:
            x = block(x)
        scores: Tensor = self.head(self.norm(x))
        return scores
