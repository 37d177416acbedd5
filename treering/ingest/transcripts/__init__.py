"""Past conversations: the files that chat clients, messengers and mail programs leave behind.

``contract`` defines and lists the formats, one file each, and ``importing`` turns their messages
into lines that a memory takes in.
"""
