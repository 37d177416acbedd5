"""Text of PDF, Word, HTML, EPUB, spreadsheets and CSV.

Libraries read them in a process of their own (``worker``), which has limits on time and memory, no
network, and starts no other program.
"""
