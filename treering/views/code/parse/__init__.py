"""From source text to what the rest works on: definitions, calls, parts, pieces, fragments."""
