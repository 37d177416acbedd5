"""Facts that change: what newer statements supersede stays in the journal and is shown as such."""
