"""Small repositories, written out and made up, for the tests of the code relation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st


def write_files(root: Path, texts: Mapping[str, str]) -> Path:
    """Write texts by path below a folder, and return it."""
    for name, text in texts.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


SHOP = {
    "shop/__init__.py": "from .cart import Cart\n",
    "shop/cart.py": '''\
from shop.prices import price, vat
import shop.log as log


class Cart:
    """What is bought."""

    def __init__(self):
        self.items = []

    def add(self, item):
        self.items.append(item)
        log.note(item)

    def total(self):
        total = 0
        for item in self.items:
            total += price(item)
        return vat(total)

    def again(self):
        self.add(1)
        return self.total()
''',
    "shop/prices.py": '''\
RATES = {"a": 1}


def price(item):
    return RATES[item]


def vat(amount):
    """Adds the tax."""
    return round(amount * 1.2)
''',
    "shop/log.py": "def note(text):\n    write(text)\n\n\ndef write(text):\n    print(text)\n",
    "tests/test_cart.py": """\
from shop import Cart


def test_total():
    cart = Cart()
    cart.add("a")
    assert cart.total() == 1
""",
    "README.md": "A shop.\n\nIt sells.\n",
}

_names = st.sampled_from(["f", "g", "h", "k"])
_statements = st.one_of(
    _names.map(lambda name: f"{name}()"),
    _names.map(lambda name: f"x = {name}(1)"),
    st.tuples(_names, _names).map(lambda pair: f"return {pair[0]}({pair[1]}(2))"),
    st.just("x = 1"),
)
_functions = st.tuples(_names, st.lists(_statements, min_size=1, max_size=4)).map(
    lambda parts: f"def {parts[0]}():\n" + "".join(f"    {line}\n" for line in parts[1])
)
_modules = st.tuples(
    st.sampled_from(["", "from a import *\n", "from d.b import f, g\n"]),
    st.lists(_functions, max_size=4),
).map(lambda parts: parts[0] + "\n".join(parts[1]))

made_up = st.dictionaries(
    st.sampled_from(["a.py", "d/b.py", "d/c.py", "e/f/g.py"]), _modules, min_size=1, max_size=4
)
"""Repositories of up to four Python files that call one another."""
