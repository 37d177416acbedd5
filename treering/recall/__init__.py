"""From scores to what is given back: hits, and contexts within a budget."""
