"""From source text to definitions, calls, parts, pieces, fragments."""
