"""A convolutional network for 8x8 grey images, small enough to train in seconds on one CPU core.

It has no batch normalisation: its statistics would depend on how a batch is cut into ranks, and one rank
and three could not be compared.
"""

from torch import Tensor, nn

from training.schema import DigitsCnnOptions

CLASSES = 10
SIDE = 8


class DigitsCnn(nn.Module):
    """Two convolutions with pooling, then two linear layers."""

    def __init__(self, options: DigitsCnnOptions) -> None:
        super().__init__()
        width = options.width
        self.features = nn.Sequential(
            nn.Conv2d(1, width, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(2 * width * (SIDE // 2) ** 2, options.hidden),
            nn.ReLU(),
            nn.Linear(options.hidden, CLASSES),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Scores of the classes.

        Args:
            images: (batch, 1, 8, 8), values from 0 to 1.

        Returns:
            (batch, 10), not normalised.
        """
        scores: Tensor = self.classifier(self.features(images))
        return scores
