"""A process that adds to a memory and says so, line by line: ``python -m tests.faults.writer``.

Arguments: the file, a name for what this process adds, and how many conversations. It waits for a
line on its standard input, then prints the number of each conversation once ``add`` has returned.
"""

from __future__ import annotations

import sys

from tests.embedders import HashingEmbedder
from treering import Memory

MESSAGES = 5  # in a conversation
SHARED = 3  # conversations that every process adds


def messages(name: str, number: int) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": f"{name} says message {place} of talk {number}. " * 20}
        for place in range(MESSAGES)
    ]


def main() -> None:
    path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(count):
            writer = "everybody" if number < SHARED else name
            memory.add(messages(writer, number), source=f"{writer} {number}")
            print(number, flush=True)


if __name__ == "__main__":
    main()
