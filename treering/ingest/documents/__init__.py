"""Documents that are not plain text: PDF, Word, HTML, EPUB, spreadsheets and CSV become text.

Libraries read them in a process of their own (``worker``), which has limits on time and memory, no
network, and starts no other program.
"""
