"""The warm server of one memory: it keeps the model and the vectors loaded between hooks.

Hooks start it; it ends after a time without requests. One runs for each file and user.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import shutil
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

from filelock import FileLock, Timeout

from treering.agents import endpoint
from treering.agents.handler import HookHandler
from treering.hooks.places import agents_home, data_home, remove_empty

log = logging.getLogger("treering")

IDLE_S = 1800.0
"""The server ends after so long without a request: the user has stopped working."""
CONNECTIONS = 8
SPEAK_S = 5.0
"""The time that a client has to send its request."""
LOCK_S = 2.0
"""A new server waits so long for one that is ending; then another one runs, and it gives up."""
LOOK_AGAIN_S = 60.0
"""The time between two attempts to store the messages of a failed job."""

STOP = {"event": "stop"}


def stop(memory: str) -> bool:
    """End a memory's server; return whether one ran."""
    try:
        endpoint.exchange(endpoint.endpoint_for(memory), STOP, SPEAK_S)
    except OSError:
        return False
    return True


def stop_all(memory: str) -> None:
    """End the server of a memory and all others of this user's data folder; remove their files."""
    stop(memory)
    folder = agents_home() / "run"
    for path in [*folder.glob("*.sock"), *folder.glob("*.port")]:
        with suppress(OSError):
            endpoint.exchange(endpoint.HookEndpoint(folder, path.stem), STOP, SPEAK_S)
    shutil.rmtree(folder, ignore_errors=True)
    (agents_home() / "server.log").unlink(missing_ok=True)
    remove_empty([agents_home(), data_home()])


def serve(memory: str, *, idle_s: float = IDLE_S, embedder: str | None = None) -> bool:
    """Answer the hooks of a memory until they stop; return False if another server runs."""
    place = endpoint.endpoint_for(memory)
    lock = FileLock(place.lock, timeout=LOCK_S)
    try:
        lock.acquire()
    except Timeout:
        return False
    handler = HookHandler(memory, embedder)
    handler.warm()
    try:
        with closing(_Server(place, handler, idle_s)) as server:
            server.run()
    finally:
        handler.close()
        endpoint.remove(place)
        lock.release()
    return True


class _Server:
    """Accepts connections, answers each in a thread, and stores messages in another thread."""

    def __init__(self, place: endpoint.HookEndpoint, handler: HookHandler, idle_s: float) -> None:
        self._place = place
        self._handler = handler
        self._idle_s = idle_s
        self._socket, self._token = endpoint.listen(place)
        self._asked, self._stopper = socket.socketpair()
        self._pool = ThreadPoolExecutor(CONNECTIONS)
        self._work = threading.Event()
        self._stop = threading.Event()
        self._is_storing = False
        self._worker = threading.Thread(target=self._store_messages, name="storing")

    def run(self) -> None:
        """Answer until no request came for the idle time and no message is being stored."""
        self._worker.start()
        self._work.set()  # jobs may have come while no server ran
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._asked, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select(self._idle_s)]
                if self._asked in ready or (not ready and not self._is_storing):
                    return
                if self._socket in ready:
                    self._pool.submit(self._talk, self._socket.accept()[0])

    def close(self) -> None:
        """Stop listening first, so that a hook that comes now starts another server."""
        endpoint.remove(self._place)
        self._socket.close()
        self._pool.shutdown()
        self._asked.close()
        self._stopper.close()
        self._stop.set()
        self._work.set()
        if self._worker.ident is not None:
            self._worker.join()

    def _talk(self, connection: socket.socket) -> None:
        with suppress(OSError, ValueError), closing(connection):
            # A client that has left, or is not ours, needs no answer.
            connection.settimeout(SPEAK_S)
            with connection.makefile("rb") as stream:
                if not endpoint.admits(stream, self._token):
                    return
                request = json.loads(endpoint.read_line(stream) or b"{}")
            if request == STOP:
                self._stopper.send(b"x")
                connection.sendall(b"{}\n")
                return
            if not isinstance(request, dict):
                return
            reply = self._handler.answer(request)
            connection.sendall(json.dumps(reply).encode() + b"\n")
            self._handler.note_delivery(request, reply)  # not if the client has left
        self._work.set()  # only now: storing must not slow a reply down

    def _store_messages(self) -> None:
        while not self._stop.is_set():
            self._work.wait(LOOK_AGAIN_S)
            self._work.clear()
            self._is_storing = True
            try:
                self._handler.take_in_waiting()
            except Exception:  # after any error the jobs are tried again
                log.exception("messages could not be stored")
            finally:
                self._is_storing = False


if __name__ == "__main__":
    serve(
        sys.argv[1],
        idle_s=float(os.environ.get("TREERING_HOOK_IDLE") or IDLE_S),
        embedder=os.environ.get("TREERING_EMBEDDER") or None,
    )
