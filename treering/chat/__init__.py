"""A chat that remembers: a policy decides what the model sees, both sides of a round are kept."""
