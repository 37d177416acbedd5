"""``deploy`` and its page name existing variables, options, paths and tables."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest
import yaml
from typer.testing import CliRunner

from tests.docs.pages import DOCS, ROOT, blocks
from tests.postgres_server import PostgresServer
from treering.cli.main import app
from treering.journal.open import open_database
from treering.journal.postgres.location import Location
from treering.serve.rest.custom import health
from treering.serve.settings import DEFAULT_PORT, STOP_WITHIN_S

DEPLOY = ROOT / "deploy"
PAGE = DOCS / "how-to" / "operations.md"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
FILE_COMPOSE = yaml.safe_load((DEPLOY / "compose.file.yaml").read_text("utf-8"))
[FILE_SERVER] = FILE_COMPOSE["services"].values()
UNIT = ConfigParser(strict=False, interpolation=None)
UNIT.read_string((DEPLOY / "treering.service").read_text("utf-8"))
SERVICE = UNIT["Service"]
OBJECTS = {
    thing["kind"]: thing for thing in yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
}
POD = OBJECTS["Deployment"]["spec"]["template"]
[CONTAINER] = POD["spec"]["containers"]
SERVERS = {name: it for name, it in COMPOSE["services"].items() if name.startswith("treering-")}
ENTRYPOINT = "treering"


def instructions(name: str) -> list[str]:
    """Return the arguments of every such instruction of the Dockerfile."""
    return re.findall(rf"^\s*{name} (.*)$", DOCKERFILE, re.M)


def commands() -> Iterator[list[str]]:
    """Yield every treering command of the files, and those in containers of the page."""
    yield json.loads(instructions("CMD")[-1])
    yield CONTAINER["args"]
    yield FILE_SERVER["command"]
    yield shlex.split(SERVICE["ExecStart"])[1:]
    text = "".join(block.text for block in blocks(PAGE) if block.language == "sh")
    for line in re.findall(r"^docker .*? (?:treering|treering-1) (\w.*)$", text, re.M):
        yield shlex.split(line, comments=True)


def test_treering_reads_every_variable_that_is_set() -> None:
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "treering").rglob("*.py"))
    for file in (*sorted(DEPLOY.rglob("*.*")), *DOCS.glob("how-to/*.md")):
        variables = set(re.findall(r"\bTREERING_[A-Z_]+", file.read_text("utf-8")))
        assert {name for name in variables if name not in sources} == set()


def test_every_command_has_its_options() -> None:
    assert instructions("ENTRYPOINT") == [json.dumps([ENTRYPOINT])]
    for words in commands():
        # The line is parsed as a whole before its help is shown.
        assert CliRunner().invoke(app, [*words, "--help"]).exit_code == 0, words


def test_files_of_the_image_exist_and_reach_the_build() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    sources = [
        word.removeprefix("./")
        for line in instructions("COPY")
        if not line.startswith("--from")
        for word in shlex.split(line)[:-1]
    ]
    assert sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [extras] = re.findall(r"'\.\[([\w,-]+)\]'", DOCKERFILE)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    assert {project["readme"], *project["license-files"]} <= set(sources)


def test_paths_of_the_compose_files_exist() -> None:
    for content in (COMPOSE, FILE_COMPOSE):
        for service in content["services"].values():
            for volume in service.get("volumes", []):
                source = volume.split(":")[0]
                assert source in content["volumes"] or (DEPLOY / source).exists(), source
    for server in (*SERVERS.values(), FILE_SERVER):
        context = DEPLOY / server["build"]["context"]
        assert (context / server["build"]["dockerfile"]).samefile(DEPLOY / "Dockerfile")


def test_the_file_of_a_memory_is_where_its_server_may_write() -> None:
    [memory] = re.findall(r"TREERING_MEMORY=(\S+)", DOCKERFILE)
    [volume] = FILE_SERVER["volumes"]
    assert volume.partition(":")[2] == str(Path(memory).parent)
    assert f"--mode=0700 {Path(memory).parent}" in DOCKERFILE
    words = shlex.split(SERVICE["ExecStart"])
    memory = words[words.index("--memory") + 1]
    assert str(Path(memory).parent) == f"/var/lib/{SERVICE['StateDirectory']}"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_accepts_the_unit_and_finds_it_hardened(tmp_path: Path) -> None:
    program, file = tmp_path / "treering", tmp_path / "treering.service"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = (DEPLOY / file.name).read_text("utf-8")
    file.write_text(unit.replace("/opt/treering/bin/treering", str(program)))
    done = subprocess.run(
        ["systemd-analyze", "verify", file], capture_output=True, text=True, check=True
    )
    assert file.name not in done.stderr  # of other units it may complain
    security = ["systemd-analyze", "security", "--offline=true", "--threshold=15", str(file)]
    subprocess.run(security, capture_output=True, check=True)


def test_variables_of_the_compose_file_are_in_the_example_and_reach_the_script() -> None:
    example = set(re.findall(r"^(\w+)=", (DEPLOY / "env.example").read_text("utf-8"), re.M))
    assert set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text("utf-8"))) == example
    script = (DEPLOY / "postgres" / "10-treering.sh").read_text("utf-8")
    reads = set(re.findall(r"\\getenv \w+ (\w+)", script))
    assert reads
    assert reads <= COMPOSE["services"]["postgres"]["environment"].keys()


def test_proxy_probes_ports_and_labels_fit_together() -> None:
    caddyfile = (DEPLOY / "Caddyfile").read_text("utf-8")
    [upstreams] = re.findall(r"\{\$SERVERS:([^}]*)\}", caddyfile)
    assert upstreams.split() == [f"{name}:{DEFAULT_PORT}" for name in SERVERS]
    probes = [CONTAINER[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")]
    asked = {probe["path"] for probe in probes}.union(re.findall(r"health_uri (\S+)", caddyfile))
    assert asked <= {getattr(route, "path", "") for route in health.routes}
    assert {probe["port"] for probe in probes} == {"http"}
    assert CONTAINER["ports"] == [{"name": "http", "containerPort": DEFAULT_PORT}]
    assert instructions("EXPOSE") == [str(DEFAULT_PORT)]
    assert OBJECTS["Service"]["spec"]["selector"] == POD["metadata"]["labels"]
    assert (
        OBJECTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == POD["metadata"]["labels"]
    )
    user = POD["spec"]["securityContext"]
    assert instructions("USER") == [f"{user['runAsUser']}:{user['runAsGroup']}"]


def test_urls_can_be_read_and_requests_under_way_have_time_to_end() -> None:
    variables = {entry["name"]: entry for entry in CONTAINER["env"]}
    reference = variables["TREERING_MEMORY"]["valueFrom"]["secretKeyRef"]
    secret = OBJECTS["Secret"]
    assert secret["metadata"]["name"] == reference["name"]
    assert "CHANGE-ME" not in Location.parse(secret["stringData"][reference["key"]]).shown
    for server in SERVERS.values():
        assert Location.parse(server["environment"]["TREERING_MEMORY"]).schema == "treering"
    for server in (*SERVERS.values(), FILE_SERVER):
        assert int(server["stop_grace_period"].removesuffix("s")) > STOP_WITHIN_S
    assert int(SERVICE["TimeoutStopSec"]) > STOP_WITHIN_S
    assert POD["spec"]["terminationGracePeriodSeconds"] > STOP_WITHIN_S


def test_the_script_creates_a_database_for_a_user_without_rights() -> None:
    password = 'it\'s a "secret" $1'
    server = PostgresServer()
    with ExitStack() as running:
        running.callback(server.stop)
        server.start()
        given = psycopg.conninfo.conninfo_to_dict(server.url)
        done = subprocess.run(
            ["sh", str(DEPLOY / "postgres" / "10-treering.sh")],
            env={
                "PATH": f"{server.programs}{os.pathsep}{os.environ['PATH']}",
                "PGHOST": str(given["host"]),
                "DATABASE_PASSWORD": password,
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        assert "secret" not in done.stdout + done.stderr
        url = f"postgresql://treering@/treering?host={given['host']}"
        with closing(open_database(url)) as database, database.read() as reader:
            role = reader.row("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        assert role == (False,)
