"""Chats: a policy chooses the parts of a prompt, and both sides of a round are stored."""
