"""Metrics of evidence, answers, memos and rounds."""
