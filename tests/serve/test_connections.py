"""What comes before a request is known: headers without end, and connections that say nothing."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.embedders import HashingEmbedder
from tests.serve.live import serving
from treering import Memory

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half: "


def connected(url: str) -> socket.socket:
    address = urlsplit(url)
    assert address.hostname is not None
    return socket.create_connection((address.hostname, address.port or 0), timeout=20)


def answer(client: socket.socket) -> bytes:
    """All that comes until the server closes; a reset says as much as an end."""
    came = b""
    try:
        while piece := client.recv(65_536):
            came += piece
    except ConnectionError:
        pass
    return came


def test_so_are_many_headers(path: Path) -> None:
    with serving(url=path, header_bytes=4_096) as url, connected(url) as client:
        client.sendall(HALF + b"a\r\n" + b"X-More: 1\r\n" * 370)
        client.sendall(b"X-More: 1\r\n" * 100)
        came = answer(client)
    assert came.startswith(b"HTTP/1.1 431 ")
    assert b"more than 4096 bytes" in came


@pytest.mark.parametrize("said", [b"", HALF])
def test_headers_that_do_not_come_are_not_waited_for(path: Path, said: bytes) -> None:
    with serving(url=path, header_s=0.2) as url, connected(url) as client:
        client.sendall(said)
        came = answer(client)
    assert came.startswith(b"HTTP/1.1 408 ")


def test_the_second_request_of_a_connection_is_bounded_too(path: Path) -> None:
    with serving(url=path, header_s=0.3) as url, connected(url) as client:
        client.sendall(HALF + b"\r\n\r\n")
        assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
        client.sendall(HALF)
        assert answer(client).startswith(b"HTTP/1.1 408 ")


def test_a_body_may_take_longer_than_headers(path: Path) -> None:
    body = b'{"text": "Ana moved to Porto."}'
    head = (
        b"POST /v1/entries HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    )
    with serving(url=path, header_s=0.2) as url, connected(url) as client:
        client.sendall(head + body[:5])
        client.settimeout(0.5)  # more than headers may take
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(20)
        client.sendall(body[5:])
        assert answer(client).startswith(b"HTTP/1.1 201 ")


def test_a_reply_may_take_longer_than_headers(path: Path) -> None:
    with serving(url=path, header_s=0.2) as url, httpx2.Client(base_url=url) as client:
        text = "Ana moved to Porto in May, and Ben to Rome. " * 20_000
        assert client.post("/v1/entries", json={"text": text}, timeout=60).status_code == 201


def test_half_requests_do_not_keep_others_out(path: Path) -> None:
    with serving(url=path, max_connections=20) as url, ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(url)).sendall(HALF)
        with httpx2.Client(base_url=url, timeout=10) as client:
            for _ in range(3):
                assert client.get("/v1/stats").status_code == 200


def test_where_every_connection_is_in_use_a_new_one_is_told(path: Path) -> None:
    with serving(url=path, max_connections=2) as url, ExitStack() as stack:
        for _ in range(2):
            used = stack.enter_context(connected(url))
            used.sendall(HALF + b"\r\n\r\n")
            assert used.recv(65_536).startswith(b"HTTP/1.1 200 ")
        with connected(url) as client:
            came = answer(client)
    assert came.startswith(b"HTTP/1.1 503 ")
    assert b"--max-connections" in came


def test_more_connections_than_files_are_not_promised() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (300, 400))
from treering.serve.connections import SPARE_FILES, available_connections
print(available_connections(100) == 100, available_connections(1_024) == 400 - SPARE_FILES)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 400)
"""
    pytest.importorskip("resource")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "True", "True"]


UNREAD = b"GET /v1/entries HTTP/1.1\r\nHost: localhost\r\n\r\n"
REQUESTS = 20  # whose replies are longer than any buffer


def deaf(url: str) -> socket.socket:
    """A client that asks for much, and reads none of it by itself."""
    address = urlsplit(url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
    client.connect((address.hostname, address.port))
    client.sendall(UNREAD * REQUESTS)
    return client


def fill(path: Path) -> None:
    """Give a memory so much that a reply of all of it is longer than a socket's buffer."""
    with Memory.open(path, embedder=HashingEmbedder()) as memory:
        memory.add([{"role": "user", "content": f"{n} " * 4_000} for n in range(100)])


def is_answered(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", timeout=20).status_code == 200
    except httpx2.TransportError:
        return False  # closed before it was answered


def test_clients_that_read_nothing_take_no_place_from_others(path: Path) -> None:
    fill(path)
    with serving(url=path, max_connections=2) as url, ExitStack() as stack:
        for _ in range(2):
            deaf_client = stack.enter_context(deaf(url))
            assert deaf_client.recv(1) == b"H"  # its reply is on the way
        assert all(is_answered(url) for _ in range(5))


def test_a_client_that_reads_nothing_is_given_up_on(path: Path) -> None:
    fill(path)
    with serving(url=path, unread_s=0.2, header_s=1.0) as url, deaf(url) as client:
        whole = len(httpx2.get(f"{url}/v1/entries").content)
        with connected(url) as silent:
            assert answer(silent).startswith(b"HTTP/1.1 408 ")  # long after two looks
        assert len(answer(client)) < REQUESTS * whole


@pytest.mark.parametrize(
    "target",
    ["/v1/entries", "/v1/import", "/v1/search", "/v1/settle", "/mcp", "/v1/chat/completions"],
)
def test_a_client_that_leaves_amid_its_body_is_not_logged_as_an_error(
    path: Path, target: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    head = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(url=path) as url:
        with connected(url) as client:
            client.sendall(f'{head}Content-Length: 99\r\n\r\n{{"text": '.encode())
        assert httpx2.get(f"{url}/healthz").is_success
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    assert "Traceback" not in capfd.readouterr().err


def test_the_body_of_a_refused_request_does_not_hold_a_connection(path: Path) -> None:
    head = b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
    with serving(url=path, header_s=0.3) as url, connected(url) as client:
        client.sendall(head)
        assert client.recv(65_536).startswith(b"HTTP/1.1 404 ")
        client.sendall(b"a")
        assert answer(client).startswith(b"HTTP/1.1 408 ")
