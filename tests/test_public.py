from __future__ import annotations

import subprocess
import sys

import pytest

import treering


def test_the_public_names_are_sorted_and_importable() -> None:
    assert treering.__all__ == sorted(treering.__all__)
    for name in treering.__all__:
        assert getattr(treering, name).__name__ == name
    assert set(treering.__all__) <= set(dir(treering))


def test_a_name_that_is_not_public_is_told() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        getattr(treering, "Nothing")  # noqa: B009


def test_importing_the_package_loads_no_numerics() -> None:
    program = "import sys, treering; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
