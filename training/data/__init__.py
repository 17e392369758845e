"""The bundled data sets, from what is on the machine anyway, and the rule by which ranks share a batch."""

from training.data.dataset import Dataset
from training.data.digits import Digits
from training.data.python_text import PythonText
from training.schema import DataOptions, DigitsData


def build_dataset(options: DataOptions) -> Dataset:
    """The data set that the options describe, in host memory.

    Raises:
        InputError: The data is missing, empty, or too small for one sample.
    """
    if isinstance(options, DigitsData):
        return Digits(options)
    return PythonText(options)
