"""Thin shells over ``Memory``: REST, MCP, an OpenAI-compatible proxy, and a page."""
