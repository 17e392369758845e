"""Measurements of the fabric as the training sees it."""
