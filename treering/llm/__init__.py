"""Language models: one contract, its implementations, structured replies and prompts.

A model makes treering better, never possible in the first place: no backend is imported, and no
connection is opened, before an operation calls a model.
"""
