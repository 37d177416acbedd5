"""Measuring: public benchmarks, honest baselines, paired statistics, speed (extra ``bench``)."""
