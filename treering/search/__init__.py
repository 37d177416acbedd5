"""Search: from a query to scored fragments, hits and contexts."""
