"""Measures the detector of undone fixes. Only measuring needs these runs, baselines and fits."""
