"""The bundled models. They know nothing of ranks, devices or optimisers."""

from torch import nn

from training.models.digits_cnn import DigitsCnn
from training.models.gpt import Gpt
from training.schema import DigitsCnnOptions, ModelOptions


def build_model(options: ModelOptions) -> nn.Module:
    """The model that the options describe, on the CPU, initialised from torch's global random state."""
    if isinstance(options, DigitsCnnOptions):
        return DigitsCnn(options)
    return Gpt(options)
