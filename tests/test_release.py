"""What a release is: a wheel and an sdist, built and checked here, and used away from here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import treering

ROOT = Path(__file__).parents[1]
TIMEOUT_S = 100


def run(*arguments: str | Path, **options: object) -> str:
    """The output of a Python module in a process of its own, which has to succeed."""
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, done.stdout
    return str(done.stdout)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A wheel and an sdist; the wheel is made of what the sdist holds."""
    folder = tmp_path_factory.mktemp("dist")
    run("build", "--no-isolation", "--outdir", folder, ROOT)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def committed(*folders: str) -> set[str]:
    """What git has, or will have, of some folders; all that is there outside of a checkout."""
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", *folders],
        capture_output=True,
        text=True,
    )
    if listed.returncode:
        pytest.skip("this is no checkout")
    return {name for name in listed.stdout.splitlines() if (ROOT / name).exists()}


def test_both_can_be_uploaded(release: tuple[Path, Path]) -> None:
    assert run("twine", "check", "--strict", *release).count("PASSED") == 2


def test_the_wheel_holds_the_package_and_nothing_else(
    release: tuple[Path, Path],
) -> None:
    held = files_of(release[0])
    assert held == committed("treering")
    assert "treering/py.typed" in held


def test_the_sdist_holds_what_a_packager_needs(release: tuple[Path, Path]) -> None:
    with tarfile.open(release[1]) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= held
    assert not [name for name in held if name.startswith("benchmarks")]
    assert {"tests/conftest.py", "docs/index.md", "Makefile", "mkdocs.yml"} <= held
    assert not [name for name in held if name.endswith((".db", ".pyc")) or name.startswith("site/")]


def test_the_metadata_are_those_of_the_project(release: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(release[0]) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = Parser().parsestr(archive.read(name).decode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert metadata["Version"] == treering.__version__
    assert metadata["Requires-Python"] == project["requires-python"]
    extras = metadata.get_all("Provides-Extra")
    assert extras is not None
    assert set(extras) == set(project["optional-dependencies"])


def test_an_installed_wheel_remembers_finds_and_forgets(
    release: tuple[Path, Path], tmp_path: Path
) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    with zipfile.ZipFile(release[0]) as archive:
        archive.extractall(installed)
    here = {"cwd": home, "env": environment(home) | {"PYTHONPATH": str(installed)}}
    assert run("treering", "--version", **here).strip() == treering.__version__
    (home / "remember.py").write_text(REMEMBER, "utf-8")
    assert run("remember", **here).split() == ["1", "March.", "0"]


REMEMBER = """
from treering import Memory
with Memory.open("life.db") as memory:
    print(memory.add("The boiler was serviced in March.").added)
    print(memory.search("boiler")[0].text.split()[-1])
    memory.forget(source="notes")
    print(len(memory.search("boiler")))
"""


def environment(home: Path) -> dict[str, str]:
    """An environment with nothing but a path and a home folder."""
    return {"PATH": os.environ["PATH"], "HOME": str(home)}


def test_every_extra_that_a_hint_names_is_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pages = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("treering/**/*.py"))
    hint = re.compile(r"""pip install ['"](?:treering|\.)\[(?P<extras>[a-z,-]+)\]['"]""")
    named = {
        extra
        for page in pages
        for match in hint.finditer(page.read_text("utf-8"))
        for extra in match["extras"].split(",")
    }
    assert {"llm", "local", "serve", "mcp"} <= named
    assert named <= set(project["optional-dependencies"])


def test_the_changelog_says_what_to_do_when_upgrading() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    latest = changelog.split("\n## ")[1]
    assert "### Upgrading" in latest
