"""Measuring: public benchmarks, honest baselines, paired statistics, speed. Needs the extra ``bench``."""
