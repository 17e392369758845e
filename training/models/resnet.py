"""ResNet-18 and ResNet-50 for images (He et al., 2015, https://arxiv.org/abs/1512.03385).

The bottleneck puts its stride on the 3x3 convolution, the form known as v1.5, which is what torchvision's
weights and most published throughput figures use. `small_images` swaps the stem for a 3x3 one without
pooling, for images of 32 to 64 pixels.
"""

from __future__ import annotations

from torch import Tensor, nn

from training.schema_models import ResnetOptions

BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
WIDTHS = (64, 128, 256, 512)


def convolution(channels_in: int, channels_out: int, size: int, stride: int = 1) -> nn.Conv2d:
    """A convolution that keeps height and width at stride 1; without bias, since a batch norm follows."""
    return nn.Conv2d(channels_in, channels_out, size, stride, padding=size // 2, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and the shortcut."""

    expansion = 1

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(channels_in, width, 3, stride),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, width, 3),
            nn.BatchNorm2d(width),
        )
        self.shortcut = shortcut(channels_in, width, stride)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels_in, h, w) to (batch, width, h / stride, w / stride)."""
        out: Tensor = self.activation(self.body(x) + self.shortcut(x))
        return out


class Bottleneck(nn.Module):
    """1x1 down, 3x3, 1x1 up to four times the width, and the shortcut."""

    expansion = 4

    def __init__(self, channels_in: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(channels_in, width, 1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, width, 3, stride),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            convolution(width, 4 * width, 1),
            nn.BatchNorm2d(4 * width),
        )
        self.shortcut = shortcut(channels_in, 4 * width, stride)
        self.activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels_in, h, w) to (batch, 4 * width, h / stride, w / stride)."""
        out: Tensor = self.activation(self.body(x) + self.shortcut(x))
        return out


def shortcut(channels_in: int, channels_out: int, stride: int) -> nn.Module:
    """The identity where the shapes agree, else a 1x1 convolution that makes them agree."""
    if stride == 1 and channels_in == channels_out:
        return nn.Identity()
    return nn.Sequential(convolution(channels_in, channels_out, 1, stride), nn.BatchNorm2d(channels_out))


class Resnet(nn.Module):
    """Stem, four stages of residual blocks, average, linear head."""

    def __init__(self, options: ResnetOptions) -> None:
        super().__init__()
        block = BasicBlock if options.depth == 18 else Bottleneck
        self.stem = nn.Sequential(
            convolution(options.channels, 64, 3 if options.small_images else 7, 1 if options.small_images else 2),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.Identity() if options.small_images else nn.MaxPool2d(3, 2, padding=1),
        )
        channels = 64
        stages: list[nn.Module] = []
        for stage, (width, count) in enumerate(zip(WIDTHS, BLOCKS[options.depth], strict=True)):
            blocks: list[nn.Module] = []
            for index in range(count):
                blocks.append(block(channels, width, 2 if stage > 0 and index == 0 else 1))
                channels = width * block.expansion
            stages.append(nn.Sequential(*blocks))
        self.blocks = nn.ModuleList(stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(channels, options.classes)
        self.apply(self._initialise)

    @staticmethod
    def _initialise(module: nn.Module) -> None:
        # He et al. 2015, https://arxiv.org/abs/1502.01852, section 2.2
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """(batch, channels, h, w) to (batch, classes), not normalised."""
        x = self.stem(images)
        for stage in self.blocks:
            x = stage(x)
        scores: Tensor = self.head(self.pool(x).flatten(1))
        return scores
