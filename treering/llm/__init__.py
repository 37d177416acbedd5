"""Language models: one contract, and what is built on it (structured replies, prompts, ask).

A model makes treering better, never possible in the first place: nothing here is imported, and no
connection is opened, before an operation that needs a model is called.
"""
