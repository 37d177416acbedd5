"""What users hand in - text, messages, files - as drafts of entries."""
