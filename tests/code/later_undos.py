"""More fixes, written after the rules of the guard were chosen on those of ``undos``."""

from __future__ import annotations

from tests.code.undos import Fix

LATER = (
    Fix(
        "a lock among other things",
        before="""\
class Store:
    def save(self, path, data):
        file = open(path, "w")
        json.dump(data, file)
        file.close()
""",
        after="""\
class Store:
    def save(self, path, data):
        with self.lock, open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
""",
        undos=(
            """\
class Store:
    def save(self, path, data, indent=None):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=indent)
""",
        ),
        keeps=(
            """\
class Store:
    def save(self, path, data):
        with self.lock:
            self._write(path, data)

    def _write(self, path, data):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
""",
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
        "a copy instead of the thing itself",
        before="""\
class Basket:
    def __init__(self, items=()):
        self._items = items

    def items(self):
        return self._items

    def add(self, item):
        self._items.append(item)
""",
        after="""\
class Basket:
    def __init__(self, items=()):
        self._items = list(items)

    def items(self):
        return list(self._items)

    def add(self, item):
        self._items.append(item)
""",
        undos=(
            """\
class Basket:
    def __init__(self, items=()):
        self._items = list(items)

    def items(self):
        log.debug("%d items", len(self._items))
        return self._items

    def add(self, item):
        self._items.append(item)
""",
        ),
        keeps=(),
    ),
    Fix(
        "a command that is run without a shell",
        before="""\
def archive(folder, target):
    result = subprocess.run(f"tar czf {target} {folder}", shell=True)
    return result.returncode == 0
""",
        after="""\
def archive(folder, target):
    result = subprocess.run(["tar", "czf", target, folder], check=False, timeout=600)
    return result.returncode == 0
""",
        undos=(
            """\
def archive(folder, target, level=6):
    command = f"tar czf {target} {folder}"
    done = subprocess.run(command, shell=True, env={"GZIP": f"-{level}"})
    return done.returncode == 0
""",
        ),
        keeps=(
            """\
def archive(folder, target):
    command = ["tar", "czf", str(target), str(folder)]
    return subprocess.run(command, check=False, timeout=600).returncode == 0
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
        "a call of super",
        before="""\
class Panel(Widget):
    def on_close(self):
        self.timer.stop()
        self.parent.forget(self)
""",
        after="""\
class Panel(Widget):
    def on_close(self):
        super().on_close()
        self.timer.stop()
        self.parent.forget(self)
""",
        undos=(
            """\
class Panel(Widget):
    def on_close(self):
        for timer in self.timers:
            timer.stop()
        self.parent.forget(self)
""",
        ),
        keeps=(
            """\
class Panel(Widget):
    def on_close(self):
        Widget.on_close(self)
        self.timer.stop()
        self.parent.forget(self)
""",
        ),
    ),
    Fix(
        "a comparison of floats",
        before="""\
def is_square(shape):
    same = shape.width == shape.height
    return same and shape.angle == 90
""",
        after="""\
def is_square(shape):
    same = math.isclose(shape.width, shape.height)
    return same and shape.angle == 90
""",
        undos=(),
        keeps=(
            """\
def is_square(shape):
    return shape.angle == 90 and math.isclose(shape.width, shape.height)
""",
        ),
    ),
    Fix(
        "a limit of a loop",
        before="""\
def wait_for(job, interval=1):
    while not job.done():
        time.sleep(interval)
    return job.result()
""",
        after="""\
def wait_for(job, interval=1):
    end = time.monotonic() + MAX_WAIT
    while not job.done():
        if time.monotonic() > end:
            raise TimeoutError(job.name)
        time.sleep(interval)
    return job.result()
""",
        undos=(
            """\
def wait_for(job, interval=1, callback=None):
    while not job.done():
        time.sleep(interval)
        if callback:
            callback(job)
    return job.result()
""",
        ),
        keeps=(
            """\
def wait_for(job, interval=1, limit=MAX_WAIT):
    for _ in range(int(limit / interval)):
        if job.done():
            return job.result()
        time.sleep(interval)
    raise TimeoutError(job.name)
""",
        ),
    ),
    Fix(
        "a dictionary of a module",
        before="""\
TYPES = {"jpg": "image/jpg", "svg": "image/svg"}


def type_of(name):
    return TYPES.get(name.rsplit(".", 1)[-1])
""",
        after="""\
TYPES = {"jpg": "image/jpeg", "svg": "image/svg+xml"}


def type_of(name):
    return TYPES.get(name.rsplit(".", 1)[-1])
""",
        undos=(
            """\
TYPES = {"jpg": "image/jpg", "png": "image/png", "svg": "image/svg"}


def type_of(name):
    return TYPES.get(name.rsplit(".", 1)[-1])
""",
            """\
def type_of(name):
    return {"jpg": "image/jpg", "svg": "image/svg"}.get(name.rsplit(".", 1)[-1])
""",
        ),
        keeps=(
            """\
TYPES = {"jpg": "image/jpeg", "png": "image/png", "svg": "image/svg+xml"}


def type_of(name):
    return TYPES.get(name.rsplit(".", 1)[-1])
""",
        ),
    ),
    Fix(
        "a keyword of a class",
        before="""\
class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __eq__(self, other):
        return self.x == other.x and self.y == other.y
""",
        after="""\
class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __eq__(self, other):
        if not isinstance(other, Point):
            return NotImplemented
        return self.x == other.x and self.y == other.y
""",
        undos=(
            """\
class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x = x
        self.y = y

    def __eq__(self, that):
        return (self.x, self.y) == (that.x, that.y)
""",
        ),
        keeps=(
            """\
class Point:
    __slots__ = ("name", "x", "y")

    def __init__(self, x, y, name=""):
        self.x = x
        self.y = y
        self.name = name

    def __eq__(self, other):
        if isinstance(other, Point):
            return self.x == other.x and self.y == other.y
        return NotImplemented
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
    Fix(
        "an early return for what is not there",
        before="""\
def load(path):
    return read(path)
""",
        after="""\
def load(path):
    if not path.exists():
        return None
    return read(path, "utf-8")
""",
        undos=(
            """\
def load(path, strict=False):
    return read(path, "utf-8", strict)
""",
        ),
        keeps=(
            """\
def load(path):
    try:
        return read(path, "utf-8", strict=True)
    except FileNotFoundError:
        return None
""",
        ),
    ),
)
