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


def edit(text: str, *edits: tuple[str, str]) -> str:
    """A text with parts of it replaced, each of which it has."""
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


CONNECT = """\
def connect(host, port, timeout=None):
    sock = socket.socket()
    sock.settimeout(timeout)
    sock.connect((host, port))
    return sock
"""
DEFAULT = Fix(
    "a default",
    before=CONNECT,
    after=edit(CONNECT, ("=None", "=10")),
    undos=(
        """\
def connect(host, port, *, timeout=None):
    connection = socket.create_connection((host, port))
    connection.settimeout(timeout)
    return connection
""",
    ),
    keeps=("TIMEOUT = 10\n\n\n" + edit(CONNECT, ("=None", "=TIMEOUT")),),
)

PORT = """\
def parse_port(text):
    try:
        port = int(text)
    except ValueError:
        raise RuntimeError("bad port: " + text)
    if port > 65535:
        raise RuntimeError("port too large")
    return port
"""
CONFIG_PORT = edit(
    PORT,
    ("ValueError", "ValueError as error"),
    ("Runtime", "Config"),
    ("+ text)", "+ text) from error"),
)
EXCEPTION = Fix(
    "a kind of exception",
    before=PORT,
    after=CONFIG_PORT,
    undos=(
        "def _fail(message):\n    raise RuntimeError(message)\n\n\n"
        + edit(PORT, ("raise RuntimeError", "_fail")),
    ),
    keeps=(edit(CONFIG_PORT, ("ConfigError", "PortError")),),
)

UPLOAD = """\
import re

MAX_UPLOAD = 1024 * 1024
ALLOWED = {"png", "jpg"}


def accepts(name, size):
    return size <= MAX_UPLOAD and name.rsplit(".", 1)[-1] in ALLOWED
"""
CONSTANT = Fix(
    "a constant of a module",
    before=UPLOAD,
    after=edit(UPLOAD, ("= 1024", "= 16 * 1024")),
    undos=(edit(UPLOAD, ("MAX_UPLOAD", "UPLOAD_LIMIT")),),
    keeps=(edit(UPLOAD, ("= 1024", "= 32 * 1024")),),
)

RATES = """\
def load_rates(day):
    rows = database.query("SELECT * FROM rate WHERE day = ?", day)
    return {row.currency: row.value for row in rows}
"""
RATES_BY_LOOP = """\
def load_rates(day):
    rates = {}
    for row in database.query("SELECT * FROM rate WHERE day = ?", day):
        rates[row.currency] = row.value
    return rates
"""
DECORATOR = Fix(
    "a decorator",
    before=RATES,
    after="@lru_cache(maxsize=128)\n" + RATES,
    undos=(RATES_BY_LOOP,),
    keeps=("@cache\n" + RATES_BY_LOOP,),
)

RESIZE = """\
def resize(image, width, height):
    scaled = image.scale(width / image.width, height / image.height)
    return scaled.sharpened()
"""
VALIDATION = Fix(
    "arguments that are validated",
    before=RESIZE,
    after=edit(
        RESIZE,
        (
            "):\n",
            """):
    if width <= 0 or height <= 0:
        raise ValueError(f"size is {width} x {height}; both must be positive")
""",
        ),
    ),
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


"""
        + edit(RESIZE, ("):\n", "):\n    _check(width, height)\n")),
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

COUNTER = """\
class Counter:
    def increase(self, name, by=1):
        value = self.values.get(name, 0) + by
        self.values[name] = value
        return value
"""
LOCK = Fix(
    "a lock",
    before=COUNTER,
    after="""\
class Counter:
    def increase(self, name, by=1):
        with self._lock:
            value = self.values.get(name, 0) + by
            self.values[name] = value
        return value
""",
    undos=(
        edit(
            COUNTER,
            (
                "        return",
                """        for listener in self.listeners:
            listener(name, value)
        return""",
            ),
        ),
    ),
    keeps=(
        """\
class Counter:
    def increase(self, name, by=1):
        with self._lock:
            return self._increase(name, by)

"""
        + edit(COUNTER, ("class Counter:\n", ""), ("increase", "_increase"), ("=1", "")),
    ),
)

APP = """\
import logging

app = App()
app.route("/health")


def start(port):
    app.run(port)
"""
HEALTH = 'app.route("/health")\n'
REGISTRATION = Fix(
    "a call of a module",
    before=APP,
    after=edit(
        APP,
        (
            HEALTH,
            HEALTH
            + """\
app.register_error_handler(404, not_found)
app.config["SESSION_COOKIE_SECURE"] = True
""",
        ),
    ),
    undos=(
        edit(
            APP,
            ("app = App()", 'log = logging.getLogger("app")\napp = App()'),
            (HEALTH, HEALTH + 'app.route("/ready")\n'),
        ),
    ),
    keeps=(
        edit(
            APP,
            (
                HEALTH,
                """\
app.config["SESSION_COOKIE_SECURE"] = True
app.register_error_handler(404, missing)
"""
                + HEALTH,
            ),
        ),
    ),
)

PAIRS = """\
def read_pairs(path):
    pairs = {}
    with open(path) as file:
        for line in file:
            if not line.strip() or line.startswith("#"):
                continue
            name, value = line.split("=", 1)
            pairs[name.strip()] = value.strip()
    return pairs
"""
SKIP = """\
            if not line.strip() or line.startswith("#"):
                continue
"""
SKIPPING = Fix(
    "lines that are skipped",
    before=edit(PAIRS, (SKIP, "")),
    after=PAIRS,
    undos=(edit(PAIRS, (' or line.startswith("#")', "")),),
    keeps=(
        """\
def read_pairs(path):
    with open(path) as file:
        lines = [line.strip() for line in file]
    split = [line.split("=", 1) for line in lines if line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, value in split}
""",
    ),
)

SAVE = """\
def save(path, data):
    with open(path, "w") as file:
        json.dump(data, file)
"""
ATOMIC = Fix(
    "a write that is atomic",
    before=SAVE,
    after="""\
def save(path, data):
    temporary = path + ".new"
    with open(temporary, "w") as file:
        json.dump(data, file)
    os.replace(temporary, path)
""",
    undos=(edit(SAVE, ("data):", "data, indent=None):"), ("file)\n", "file, indent=indent)\n")),),
    keeps=(edit(SAVE, ('open(path, "w")', "atomic_write(path)")),),
)

EARLY = Fix(
    "an early return beside another statement",
    before="def parse(s):\n    return int(s)\n",
    after="def parse(s):\n    if not s:\n        return None\n    return int(s.strip())\n",
    undos=("def parse(s):\n    return int(s.strip())\n",),
    keeps=("def parse(s):\n    return int(s.strip()) if s else None\n",),
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
PARTLY = Fix(
    "several changes of which one is undone",
    before=SEVERAL,
    after=SEVERAL_FIXED,
    undos=ONE_OF_SEVERAL,
    keeps=(
        edit(SEVERAL_FIXED, ("tries", "times")),
        edit(SEVERAL_FIXED, ("tries=3", "tries=5"), ("FetchError", "NoAnswer")),
    ),
)

FIXES = (
    *(DEFAULT, EXCEPTION, CONSTANT, DECORATOR, VALIDATION, CLOSE, LOCK, REGISTRATION),
    *(SKIPPING, ATOMIC, EARLY, PARTLY),
)
