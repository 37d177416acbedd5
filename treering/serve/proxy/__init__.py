"""A proxy for chats: it remembers both sides and adds memories."""
