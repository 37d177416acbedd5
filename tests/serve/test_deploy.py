"""The files in deploy/: what they name is there, and systemd finds nothing wrong."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

from tools.document_cli import commands
from treering.serve.run import STOP_WITHIN_S
from treering.serve.settings import DEFAULT_PORT

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "treering.service"


def unknown_options(arguments: Iterable[str]) -> set[str]:
    """The options of a ``serve`` command that it does not have."""
    known = {name for param in dict(commands())["treering serve"].params for name in param.opts}
    return {one for one in arguments if one.startswith("-")} - known


def unit() -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(UNIT.read_text())
    return parser


def test_the_unit_starts_a_command_that_exists_with_a_file_that_it_may_write() -> None:
    service = unit()["Service"]
    program, serve, *options = shlex.split(service["ExecStart"])
    assert (Path(program).name, serve) == ("treering", "serve")
    assert not unknown_options(options)
    memory = Path(options[options.index("--memory") + 1])
    assert memory.parent == Path("/var/lib") / service["StateDirectory"]
    assert int(service["TimeoutStopSec"]) > STOP_WITHIN_S
    assert options[options.index("--port") + 1] == str(DEFAULT_PORT)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_accepts_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    program = tmp_path / "treering"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file = tmp_path / UNIT.name
    file.write_text(UNIT.read_text().replace("/opt/treering/bin/treering", str(program)))
    found = subprocess.run(
        ["systemd-analyze", "verify", file], capture_output=True, text=True, check=True
    )
    assert UNIT.name not in found.stderr  # of others it may complain
    security = ["systemd-analyze", "security", "--offline=true", "--threshold=15", file]
    subprocess.run(security, capture_output=True, check=True)


@pytest.mark.parametrize("name", ["compose.yaml", "compose.file.yaml"])
def test_compose_files_name_what_is_there(name: str) -> None:
    content = yaml.safe_load((DEPLOY / name).read_text())
    services = content["services"].values()
    for service in services:
        assert not unknown_options(service.get("command", []))
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    mounted = {volume.split(":")[0] for each in services for volume in each.get("volumes", [])}
    assert all(source in content["volumes"] or (DEPLOY / source).exists() for source in mounted)


def test_the_image_keeps_the_file_of_a_memory_in_the_volume_that_is_mounted() -> None:
    image = (DEPLOY / "Dockerfile").read_text()
    [memory] = re.findall(r"^ENV TREERING_MEMORY=(.+)$", image, re.MULTILINE)
    [service] = yaml.safe_load((DEPLOY / "compose.file.yaml").read_text())["services"].values()
    [volume] = service["volumes"]
    assert str(Path(memory).parent) == volume.partition(":")[2]
    assert f"--mode=0700 {Path(memory).parent}" in image
