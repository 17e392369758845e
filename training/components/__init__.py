"""The replaceable parts of a training run, each behind a small function or class."""
