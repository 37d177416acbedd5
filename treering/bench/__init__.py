"""Measuring: benchmarks in their own file formats, honest baselines, and paired statistics."""
