"""Past conversations: the files that chat clients, messengers and mail programs leave behind.

``contract`` says what a format is, ``registry`` lists the formats, one file each, and
``importing`` turns what they read into lines that a memory takes in.
"""
