"""Short dialogues with their topics, as a user's own file has them."""

from __future__ import annotations

from typing import Any

SUBJECTS = ("boats", "bread", "chess", "dogs", "eggs", "ferns", "goats", "hats", "ink", "jam")


def dialogue(subject: str, turns: int = 2) -> dict[str, Any]:
    messages = []
    for turn in range(turns):
        messages += [
            {"role": "user", "content": f"What do you really know about {subject}, part {turn}?"},
            {"role": "assistant", "content": f"A good deal about {subject}, as for part {turn}."},
        ]
    return {"messages": messages, "topic": subject, "summary": f"user asks about {subject}."}


def all_dialogues() -> list[dict[str, Any]]:
    return [dialogue(subject) for subject in SUBJECTS]
