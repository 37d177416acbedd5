"""The server: REST, MCP, the OpenAI-compatible proxy and the page, thin shells over Memory."""
