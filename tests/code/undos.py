"""Fixes as people make them, ways of undoing each, and rewritings that keep it.

Each case is a module before and after a fix; ``undos`` are later states of it without the fix,
each with other work done in the same change, ``keeps`` are states that still have it.
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


GUARD_RETURNS = Fix(
    "a guard that returns early",
    before='''\
def average(values):
    """The mean of some values."""
    total = sum(values)
    return total / len(values)
''',
    after='''\
def average(values):
    """The mean of some values."""
    if not values:
        return 0.0
    total = sum(values)
    return total / len(values)
''',
    undos=(
        # a helper does the work
        """\
def _mean(values):
    total = sum(values)
    return total / len(values)


def average(values):
    return _mean(values)
""",
    ),
    keeps=(
        """\
def average(numbers):
    if len(numbers) == 0:
        return 0.0
    return sum(numbers) / len(numbers)
""",
    ),
)

RETRY = Fix(
    "a retry",
    before="""\
class Client:
    def fetch(self, path):
        response = self.session.get(self.base + path)
        response.raise_for_status()
        return response.json()
""",
    after="""\
class Client:
    def fetch(self, path):
        for attempt in range(3):
            try:
                response = self.session.get(self.base + path)
                break
            except ConnectionError:
                if attempt == 2:
                    raise
                time.sleep(2**attempt)
        response.raise_for_status()
        return response.json()
""",
    undos=(
        """\
class Client:
    def fetch(self, path, timeout=10):
        response = self.session.get(self.base + path, timeout=timeout)
        response.raise_for_status()
        return response.json()
""",
    ),
    keeps=(
        """\
class Client:
    def fetch(self, path):
        response = self._get(path)
        response.raise_for_status()
        return response.json()

    def _get(self, path):
        for attempt in range(3):
            try:
                return self.session.get(self.base + path)
            except ConnectionError:
                if attempt == 2:
                    raise
                time.sleep(2**attempt)
""",
    ),
)

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

REGEX = Fix(
    "a pattern of a module",
    before="""\
import re

_NAME = re.compile(r"[a-z]+")
_SPACE = re.compile(r"\\s+")


def is_name(text):
    return _NAME.fullmatch(text) is not None
""",
    after="""\
import re

_NAME = re.compile(r"[a-z][a-z0-9_-]*", re.IGNORECASE)
_SPACE = re.compile(r"\\s+")


def is_name(text):
    return _NAME.fullmatch(text) is not None
""",
    undos=(
        # into the function
        """\
import re

_SPACE = re.compile(r"\\s+")


def is_name(text):
    return re.fullmatch(r"[a-z]+", text) is not None
""",
    ),
    keeps=(
        """\
import re

_NAME = re.compile(r"[a-z][a-z0-9_.-]*", re.IGNORECASE)
_SPACE = re.compile(r"\\s+")


def is_name(text):
    return _NAME.fullmatch(text) is not None
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

EFFECT = Fix(
    "a call for its effect",
    before="""\
class Store:
    def save(self, record):
        self.rows[record.key] = record
        self.file.write(record.line())

    def size(self):
        return len(self.rows)
""",
    after="""\
class Store:
    def save(self, record):
        self.rows[record.key] = record
        self.file.write(record.line())
        self.file.flush()
        os.fsync(self.file.fileno())

    def size(self):
        return len(self.rows)
""",
    undos=(
        """\
class Store:
    def save(self, record):
        line = record.line()
        self.rows[record.key] = record
        self.file.write(line)
        self.written += len(line)

    def size(self):
        return len(self.rows)
""",
    ),
    keeps=(
        """\
class Store:
    def save(self, record):
        self.rows[record.key] = record
        self._append(record)

    def _append(self, record):
        self.file.write(record.line())
        self.file.flush()
        os.fsync(self.file.fileno())

    def size(self):
        return len(self.rows)
""",
    ),
)

ORDER = Fix(
    "the order of two calls",
    before="""\
def close(pool):
    pool.connections.clear()
    for worker in pool.workers:
        worker.stop()
    pool.flush()
""",
    after="""\
def close(pool):
    pool.flush()
    for worker in pool.workers:
        worker.stop()
    pool.connections.clear()
""",
    undos=(
        """\
def close(pool):
    pool.connections.clear()
    for worker in pool.workers:
        worker.stop()
    pool.flush()
    log.info("closed")
""",
    ),
    keeps=(
        """\
def close(pool):
    pool.flush()
    log.info("closing")
    for worker in pool.workers:
        worker.stop()
    pool.connections.clear()
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

IMPORT = Fix(
    "an import that is guarded",
    before="""\
import json
import ujson


def dumps(value):
    return ujson.dumps(value)
""",
    after="""\
import json

try:
    import ujson
except ImportError:
    ujson = json


def dumps(value):
    return ujson.dumps(value)
""",
    undos=(
        """\
import json
import logging

import ujson

log = logging.getLogger(__name__)


def dumps(value):
    return ujson.dumps(value)
""",
    ),
    keeps=(
        """\
import json
import logging

try:
    import ujson
except ImportError:
    ujson = json

log = logging.getLogger(__name__)


def dumps(value):
    return ujson.dumps(value)
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

FIELD = Fix(
    "a setting of a class",
    before="""\
class Settings:
    verify = False
    retries = 3

    def session(self):
        return Session(verify=self.verify)
""",
    after="""\
class Settings:
    verify = True
    retries = 3

    def session(self):
        return Session(verify=self.verify)
""",
    undos=(
        """\
class Settings:
    verify: bool = False
    retries: int = 5

    def session(self):
        return Session(verify=self.verify)
""",
    ),
    keeps=(
        """\
class Settings:
    verify: bool = True
    retries: int = 5

    def session(self):
        return Session(verify=self.verify)
""",
    ),
)

ARGUMENT = Fix(
    "an argument of a call",
    before="""\
def read_config(path):
    with open(path) as file:
        data = yaml.load(file)
    return {key.lower(): value for key, value in data.items()}
""",
    after="""\
def read_config(path):
    with open(path, encoding="utf-8") as file:
        data = yaml.safe_load(file)
    return {key.lower(): value for key, value in data.items()}
""",
    undos=(
        """\
def read_config(path):
    with open(path) as file:
        data = yaml.load(file) or {}
    return {key.lower(): value for key, value in data.items()}
""",
    ),
    keeps=(
        """\
def read_config(path):
    data = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return {key.lower(): value for key, value in data.items()}
""",
    ),
)

FIXES = (
    *(GUARD_RETURNS, RETRY, DEFAULT, EXCEPTION, CONSTANT, REGEX, DECORATOR, EFFECT, ORDER),
    *(VALIDATION, CLOSE, LOCK, IMPORT, REGISTRATION, FIELD, ARGUMENT),
)
