"""An OpenAI-compatible proxy: what passes is remembered, and what is known is added to it."""
