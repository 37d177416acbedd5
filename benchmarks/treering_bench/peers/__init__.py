"""Other memories and vector stores behind one contract, each driven through its own package."""
