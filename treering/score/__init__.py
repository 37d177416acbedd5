"""Own scores: query to fragment, lexical and dense."""
