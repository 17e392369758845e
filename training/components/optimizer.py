"""Optimisers by name."""

from collections.abc import Iterable

from torch import nn, optim

from training.schema import OptimizerOptions


def build_optimizer(options: OptimizerOptions, parameters: Iterable[nn.Parameter]) -> optim.Optimizer:
    """The optimiser; weights decay, while biases, norms and other vectors do not."""
    every = [parameter for parameter in parameters if parameter.requires_grad]
    groups = [
        {"params": [item for item in every if item.ndim >= 2], "weight_decay": options.weight_decay},
        {"params": [item for item in every if item.ndim < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if options.name == "sgd":
        return optim.SGD(groups, lr=options.lr, momentum=options.beta1)
    return optim.AdamW(groups, lr=options.lr, betas=(options.beta1, options.beta2))
