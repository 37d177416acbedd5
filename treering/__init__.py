"""treering: a long-term memory for language models and agents."""

__version__ = "0.1.0"
