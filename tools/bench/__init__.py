"""Benchmarks: what `make bench-<topic>` runs."""
