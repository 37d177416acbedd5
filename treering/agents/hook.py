"""The process that a client starts at each event: it asks the warm server and ends.

Every prompt waits for it, so it imports nothing that takes time. After any failure, and after two
seconds at the latest, the prompt goes on, with one line that says what was wrong.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treering.agents import endpoint, replies
from treering.agents.project import agent_memory, agent_space, are_hooks_off
from treering.hooks import inbox

if TYPE_CHECKING:
    from treering.agents.endpoint import HookEndpoint

EVENTS = ("session-start", "prompt", "turn", "compact", "session-end")
CLIENTS = ("claude-code", "codex", "cursor", "gemini")

DEADLINE_S = 1.8
"""A prompt waits two seconds at most, including the start and end of the process."""
START_DEADLINE_S = 4.0
"""The start of a session may wait for the start of a server: its brief comes once."""
CONNECT_S = 0.05
PROMPT_CHARS = 8_000
"""Longer prompts are cut for the search."""
STDIN_BYTES = 16 << 20

_LATE = "the memory was not ready in time; nothing was recalled"


def main(arguments: list[str]) -> int:
    """Run ``treering hook EVENT`` with its arguments. Return 0 even after an error."""
    event = arguments[0]
    options = _options(arguments[1:])
    client = options.get("client", CLIENTS[0])
    allowed = START_DEADLINE_S if event == "session-start" else DEADLINE_S
    deadline = time.monotonic() + allowed
    answers: list[tuple[str, list[str]]] = []

    def work() -> None:
        try:
            answers.append(_run(event, client, options, deadline))
        except ValueError as error:
            answers.append(("", [str(error)]))
        except Exception as error:  # no error must cost the user a prompt
            answers.append(("", [f"{type(error).__name__}: {error}"]))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(allowed)
    text, notes = answers[0] if answers else ("", [_LATE])
    sys.stdout.write(json.dumps(replies.reply(client, event, text, notes)) + "\n")
    sys.stderr.writelines(f"treering: {note}\n" for note in notes)
    sys.stdout.flush()
    sys.stderr.flush()
    if worker.is_alive():
        os._exit(0)  # a disk or a server that hangs does not end
    return 0


def _run(
    event: str, client: str, options: Mapping[str, str], deadline: float
) -> tuple[str, list[str]]:
    if client not in CLIENTS:
        raise ValueError(f"no agent {client!r} has hooks; there are {', '.join(CLIENTS)}")
    payload = _payload()
    folder = Path(_folder(payload))
    if are_hooks_off(folder):
        return "", []
    memory = agent_memory(options.get("memory"))
    if "://" in memory:
        return "", [f"hooks need a memory in a file, not {memory}"]
    chosen = agent_space(options.get("space"), folder)
    space = chosen.name
    request = {
        "event": event,
        "asks": replies.puts_in(client, event),
        "client": client,
        "space": space,
        "chosen": chosen,
        "also": [name for name in options.get("also", "").split(",") if name not in ("", space)],
        "session": replies.session_of(payload),
        "source": replies.start_of(client, payload),
        "prompt": replies.prompt_of(payload)[:PROMPT_CHARS],
    }
    place = endpoint.endpoint_for(memory)
    if replies.takes_in(client, event):
        job = replies.job(client, event, payload)
        inbox.leave(memory, job | {"space": space, "folder": str(folder)})
    if not request["asks"]:
        return _poke(place, memory, request)
    return _ask(place, memory, request, deadline)


def _ask(
    place: HookEndpoint, memory: str, request: dict[str, Any], deadline: float
) -> tuple[str, list[str]]:
    """Return the server's answer; start the server if it does not run."""
    is_started = False
    while (left := deadline - time.monotonic()) > 0:
        try:
            reply = endpoint.exchange(place, request, left)
        except endpoint.NOT_THERE:
            if not is_started:
                endpoint.start_server(memory)
                is_started = True
            time.sleep(min(CONNECT_S, left))
            continue
        except TimeoutError:
            break
        return str(reply.get("text") or ""), [str(note) for note in reply.get("notes") or ()]
    return "", [_LATE]


def _poke(place: HookEndpoint, memory: str, request: dict[str, Any]) -> tuple[str, list[str]]:
    """Say that a job is in the inbox; a new server looks there by itself."""
    try:
        endpoint.exchange(place, request, CONNECT_S * 4)
    except endpoint.NOT_THERE:
        endpoint.start_server(memory)
    except OSError:
        pass  # it is busy, and looks into the inbox afterwards
    return "", []


def _options(arguments: list[str]) -> dict[str, str]:
    """Parse the options by hand: a parser takes longer than all other work."""
    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.lstrip("-").partition("=")
        if name == "m":
            name = "memory"
        options[name] = value if equals else next(rest, "")
    return options


def _payload() -> dict[str, Any]:
    content = sys.stdin.buffer.read(STDIN_BYTES + 1)
    if len(content) > STDIN_BYTES:
        raise ValueError(f"the event has more than {STDIN_BYTES} bytes")
    try:
        payload = json.loads(content) if content.strip() else {}
    except ValueError as error:
        raise ValueError(f"the event on standard input is not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise ValueError("the event on standard input is JSON, but no object")
    return payload


def _folder(payload: Mapping[str, Any]) -> str:
    """Return the working folder of the agent."""
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots else None
    for folder in (payload.get("cwd"), root):
        if isinstance(folder, str) and folder:
            return folder
    return str(Path.cwd())
