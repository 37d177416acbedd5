"""The lock file has what is declared, with digests; known vulnerabilities are told."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tools.audit import report

ROOT = Path(__file__).parents[1]
PACKAGE = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(.*)$")


def locked() -> dict[str, str]:
    """The locked packages, each with all that the lock says of it."""
    blocks = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())
    found = [PACKAGE.match(block.replace("\\\n", " ").strip()) for block in blocks]
    return {_plain(match[1]): match[0] for match in found if match is not None}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!;\s]", name)[0]).lower()


def _extras_of_the_makefile() -> list[str]:
    [line] = re.findall(r"^EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return str(line).split()


def test_every_dependency_that_is_installed_for_tests_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    benchmarks = tomllib.loads((ROOT / "benchmarks" / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    declared = [
        *project["project"]["dependencies"],
        *(name for extra in (*_extras_of_the_makefile(), "mcp") for name in extras[extra]),
        *project["dependency-groups"]["dev"],
        *project["build-system"]["requires"],
        *benchmarks["project"]["dependencies"],
    ]
    names = {_plain(name) for name in declared} - {"treering"}
    assert names <= locked().keys()


def test_every_locked_package_has_digests() -> None:
    packages = locked()
    assert len(packages) > 50
    assert [name for name, block in packages.items() if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("vulnerable", [False, True])
def test_a_known_vulnerability_fails_the_audit_and_no_answer_does_not(
    capsys: pytest.CaptureFixture[str], vulnerable: bool
) -> None:
    known: dict[str, Any] = {"id": "CVE-1", "fix_versions": ["2.0"]}
    packages: list[dict[str, Any]] = [
        {"name": "a", "version": "1.0", "vulns": [known] if vulnerable else []},
        {"name": "b", "skip_reason": "no network"},
    ]
    assert report(packages) == int(vulnerable)
    told = capsys.readouterr().out
    assert ("a 1.0: CVE-1, fixed in 2.0" in told) == vulnerable
    assert f"2 packages: {int(vulnerable)} vulnerable, 1 not looked up" in told
