"""Memos (MemoChat): topics with summaries over a conversation, written, chosen, looked after."""
