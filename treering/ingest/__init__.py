"""Text, messages and files of users as drafts of entries."""
