"""A memory as a server of the Model Context Protocol: tools, resources, stdio and HTTP."""
