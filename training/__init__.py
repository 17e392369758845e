"""Espalier's training package: one PyTorch model on many Macs."""

__version__ = "0.1.0"
