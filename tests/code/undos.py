"""Fixes as people make them, ways of undoing each, and rewritings that keep it.

Each case is a module before and after a fix; ``undos`` are later states of it without the fix,
each with other work done in the same change, ``keeps`` are states that still have it. The fixes
from "lines that are skipped" on were written after the rules of the guard were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fix:
    """One fix of one module, and what may become of it."""

    kind: str
    before: str
    after: str
    undos: tuple[str, ...]
    keeps: tuple[str, ...]


DEFAULT = Fix(
    "a default",
    before="""\
def connect(host, port, timeout=None):
    sock = socket.socket()
    sock.settimeout(timeout)
    sock.connect((host, port))
    return sock
""",
    after="""\
def connect(host, port, timeout=10):
    sock = socket.socket()
    sock.settimeout(timeout)
    sock.connect((host, port))
    return sock
""",
    undos=(
        """\
def connect(host, port, *, timeout=None):
    connection = socket.create_connection((host, port))
    connection.settimeout(timeout)
    return connection
""",
    ),
    keeps=(
        """\
TIMEOUT = 10


def connect(host, port, timeout=TIMEOUT):
    sock = socket.socket()
    sock.settimeout(timeout)
    sock.connect((host, port))
    return sock
""",
    ),
)

EXCEPTION = Fix(
    "a kind of exception",
    before="""\
def parse_port(text):
    try:
        port = int(text)
    except ValueError:
        raise RuntimeError("bad port: " + text)
    if port > 65535:
        raise RuntimeError("port too large")
    return port
""",
    after="""\
def parse_port(text):
    try:
        port = int(text)
    except ValueError as error:
        raise ConfigError("bad port: " + text) from error
    if port > 65535:
        raise ConfigError("port too large")
    return port
""",
    undos=(
        """\
def _fail(message):
    raise RuntimeError(message)


def parse_port(text):
    try:
        port = int(text)
    except ValueError:
        _fail("bad port: " + text)
    if port > 65535:
        _fail("port too large")
    return port
""",
    ),
    keeps=(
        """\
def parse_port(text):
    try:
        port = int(text)
    except ValueError as error:
        raise PortError("bad port: " + text) from error
    if port > 65535:
        raise PortError("port too large")
    return port
""",
    ),
)

CONSTANT = Fix(
    "a constant of a module",
    before="""\
import re

MAX_UPLOAD = 1024 * 1024
ALLOWED = {"png", "jpg"}


def accepts(name, size):
    return size <= MAX_UPLOAD and name.rsplit(".", 1)[-1] in ALLOWED
""",
    after="""\
import re

MAX_UPLOAD = 16 * 1024 * 1024
ALLOWED = {"png", "jpg"}


def accepts(name, size):
    return size <= MAX_UPLOAD and name.rsplit(".", 1)[-1] in ALLOWED
""",
    undos=(
        # another name
        """\
import re

UPLOAD_LIMIT = 1024 * 1024
ALLOWED = {"png", "jpg"}


def accepts(name, size):
    return size <= UPLOAD_LIMIT and name.rsplit(".", 1)[-1] in ALLOWED
""",
    ),
    keeps=(
        """\
import re

MAX_UPLOAD = 32 * 1024 * 1024
ALLOWED = {"png", "jpg"}


def accepts(name, size):
    return size <= MAX_UPLOAD and name.rsplit(".", 1)[-1] in ALLOWED
""",
    ),
)


DECORATOR = Fix(
    "a decorator",
    before="""\
def load_rates(day):
    rows = database.query("SELECT * FROM rate WHERE day = ?", day)
    return {row.currency: row.value for row in rows}
""",
    after="""\
@lru_cache(maxsize=128)
def load_rates(day):
    rows = database.query("SELECT * FROM rate WHERE day = ?", day)
    return {row.currency: row.value for row in rows}
""",
    undos=(
        """\
def load_rates(day):
    rates = {}
    for row in database.query("SELECT * FROM rate WHERE day = ?", day):
        rates[row.currency] = row.value
    return rates
""",
    ),
    keeps=(
        """\
@cache
def load_rates(day):
    rates = {}
    for row in database.query("SELECT * FROM rate WHERE day = ?", day):
        rates[row.currency] = row.value
    return rates
""",
    ),
)


VALIDATION = Fix(
    "arguments that are validated",
    before="""\
def resize(image, width, height):
    scaled = image.scale(width / image.width, height / image.height)
    return scaled.sharpened()
""",
    after="""\
def resize(image, width, height):
    if width <= 0 or height <= 0:
        raise ValueError(f"size is {width} x {height}; both must be positive")
    scaled = image.scale(width / image.width, height / image.height)
    return scaled.sharpened()
""",
    undos=(
        """\
def resize(picture, width, height, sharpen=True):
    result = picture.scale(width / picture.width, height / picture.height)
    return result.sharpened() if sharpen else result
""",
    ),
    keeps=(
        """\
def _check(width, height):
    if min(width, height) <= 0:
        raise ValueError("sizes must be positive")


def resize(image, width, height):
    _check(width, height)
    scaled = image.scale(width / image.width, height / image.height)
    return scaled.sharpened()
""",
    ),
)

CLOSE = Fix(
    "a finally that closes",
    before="""\
def copy_rows(source, target):
    connection = source.connect()
    for row in connection.rows():
        target.add(row)
    connection.close()
""",
    after="""\
def copy_rows(source, target):
    connection = source.connect()
    try:
        for row in connection.rows():
            target.add(row)
    finally:
        connection.close()
""",
    undos=(
        """\
def copy_rows(source, target):
    link = source.connect()
    count = 0
    for row in link.rows():
        target.add(row)
        count += 1
    link.close()
    return count
""",
    ),
    keeps=(
        """\
def copy_rows(source, target):
    with source.connect() as connection:
        for row in connection.rows():
            target.add(row)
""",
    ),
)

LOCK = Fix(
    "a lock",
    before="""\
class Counter:
    def increase(self, name, by=1):
        value = self.values.get(name, 0) + by
        self.values[name] = value
        return value
""",
    after="""\
class Counter:
    def increase(self, name, by=1):
        with self._lock:
            value = self.values.get(name, 0) + by
            self.values[name] = value
        return value
""",
    undos=(
        """\
class Counter:
    def increase(self, name, by=1):
        value = self.values.get(name, 0) + by
        self.values[name] = value
        for listener in self.listeners:
            listener(name, value)
        return value
""",
    ),
    keeps=(
        """\
class Counter:
    def increase(self, name, by=1):
        with self._lock:
            return self._increase(name, by)

    def _increase(self, name, by):
        value = self.values.get(name, 0) + by
        self.values[name] = value
        return value
""",
    ),
)


REGISTRATION = Fix(
    "a call of a module",
    before="""\
import logging

app = App()
app.route("/health")


def start(port):
    app.run(port)
""",
    after="""\
import logging

app = App()
app.route("/health")
app.register_error_handler(404, not_found)
app.config["SESSION_COOKIE_SECURE"] = True


def start(port):
    app.run(port)
""",
    undos=(
        """\
import logging

log = logging.getLogger("app")
app = App()
app.route("/health")
app.route("/ready")


def start(port):
    app.run(port)
""",
    ),
    keeps=(
        """\
import logging

app = App()
app.config["SESSION_COOKIE_SECURE"] = True
app.register_error_handler(404, missing)
app.route("/health")


def start(port):
    app.run(port)
""",
    ),
)


SEVERAL = """\
def fetch(url, tries=1):
    for attempt in range(tries):
        try:
            return client.get(url)
        except TimeoutError:
            log.info(url)
    raise RuntimeError("no answer")
"""
SEVERAL_FIXED = """\
def fetch(url, tries=3):
    if not url:
        raise ValueError("no address")
    for attempt in range(tries):
        try:
            return client.get(url)
        except OSError:
            wait(attempt)
    raise FetchError("no answer")
"""
ONE_OF_SEVERAL = tuple(
    SEVERAL_FIXED.replace(fixed, before) + "\n\ndef other():\n    return fetch(HOME)\n"
    for fixed, before in (
        ("tries=3", "tries=1"),
        ("FetchError", "RuntimeError"),
        ("except OSError", "except TimeoutError"),
    )
)

FIXES = (
    *(DEFAULT, EXCEPTION, CONSTANT, DECORATOR),
    *(VALIDATION, CLOSE, LOCK, REGISTRATION),
    Fix(
        "several changes of which one is undone",
        before=SEVERAL,
        after=SEVERAL_FIXED,
        undos=ONE_OF_SEVERAL,
        keeps=(
            SEVERAL_FIXED.replace("tries", "times"),
            SEVERAL_FIXED.replace("tries=3", "tries=5").replace("FetchError", "NoAnswer"),
        ),
    ),
    Fix(
        "lines that are skipped",
        before="""\
def read_pairs(path):
    pairs = {}
    with open(path) as file:
        for line in file:
            name, value = line.split("=", 1)
            pairs[name.strip()] = value.strip()
    return pairs
""",
        after="""\
def read_pairs(path):
    pairs = {}
    with open(path) as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            name, value = line.split("=", 1)
            pairs[name.strip()] = value.strip()
    return pairs
""",
        undos=(
            """\
def read_pairs(path):
    pairs = {}
    with open(path) as file:
        for line in file:
            if not line.strip():
                continue
            name, value = line.split("=", 1)
            pairs[name.strip()] = value.strip()
    return pairs
""",
        ),
        keeps=(
            """\
def read_pairs(path):
    with open(path) as file:
        lines = [line.strip() for line in file]
    split = [line.split("=", 1) for line in lines if line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, value in split}
""",
        ),
    ),
    Fix(
        "a write that is atomic",
        before="""\
def save(path, data):
    with open(path, "w") as file:
        json.dump(data, file)
""",
        after="""\
def save(path, data):
    temporary = path + ".new"
    with open(temporary, "w") as file:
        json.dump(data, file)
    os.replace(temporary, path)
""",
        undos=(
            """\
def save(path, data, indent=None):
    with open(path, "w") as file:
        json.dump(data, file, indent=indent)
""",
        ),
        keeps=(
            """\
def save(path, data):
    with atomic_write(path) as file:
        json.dump(data, file)
""",
        ),
    ),
    Fix(
        "an early return beside another statement",
        before="""\
def parse(s):
    return int(s)
""",
        after="""\
def parse(s):
    if not s:
        return None
    return int(s.strip())
""",
        undos=(
            """\
def parse(s):
    return int(s.strip())
""",
        ),
        keeps=(
            """\
def parse(s):
    return int(s.strip()) if s else None
""",
        ),
    ),
)
