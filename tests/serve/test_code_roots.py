"""Code of a repository is read only where the server lets it, whatever its ``.git`` names."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mcp import Client

from tests.code.working import commit, git, repository, write
from tests.serve.conftest import Serve
from tests.serve.live import serving
from tests.serve.test_mcp import refused, said

SECRET = "def launch_code():\n    return 7331\n"


def link(inside: Path, outside: Path) -> None:
    shutil.rmtree(inside / ".git")
    (inside / ".git").symlink_to(outside / ".git")


def gitdir(inside: Path, outside: Path) -> None:
    shutil.rmtree(inside / ".git")
    (inside / ".git").write_text(f"gitdir: {outside / '.git'}\n")


def commondir(inside: Path, outside: Path) -> None:
    (inside / ".git" / "commondir").write_text(f"{outside / '.git'}\n")


def alternates(inside: Path, outside: Path) -> None:
    by_way = repository(inside.parent / "by-way", other="x = 1\n")
    for store, other in ((inside, by_way), (by_way, outside)):
        info = store / ".git" / "objects" / "info"
        info.mkdir(exist_ok=True)
        (info / "alternates").write_text(f"# of another\n{other / '.git' / 'objects'}\n")
    borrow_head(inside, outside)


def quoted(inside: Path, outside: Path) -> None:
    named = outside.rename(outside.with_name("out\nside"))
    (inside / ".git" / "objects" / "info" / "alternates").write_text(
        f'"{str(named).encode("unicode_escape").decode()}/.git/objects"\n'
    )
    borrow_head(inside, named)


def linked_store(inside: Path, outside: Path) -> None:
    shutil.rmtree(inside / ".git" / "objects")
    (inside / ".git" / "objects").symlink_to(outside / ".git" / "objects")
    borrow_head(inside, outside)


def borrow_head(inside: Path, outside: Path) -> None:
    """Name the last commit of another repository, which the objects of that one have."""
    (inside / ".git" / "HEAD").write_text(git(outside, "rev-parse", "HEAD"))


Attack = Callable[[Path, Path], None]
ATTACKS = [link, gitdir, commondir, alternates, quoted, linked_store]


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    """A repository in the folder that is served, and one beside that folder."""
    (tmp_path / "served").mkdir()
    inside = repository(tmp_path / "served" / "inside", m="x = 1\n")
    outside = repository(tmp_path / "outside", secret="x = 1\n")
    commit(outside, "Launch with a code", secret=SECRET)
    return inside, outside


def test_no_folder_outside_is_indexed(serve: Serve, roots: tuple[Path, Path]) -> None:
    inside, outside = roots
    (inside.parent / "link").symlink_to(outside)
    client = serve(code_roots=(inside.parent,))
    around = inside / ".." / ".." / outside.name
    for root in (outside, inside.parent / "link", around, "/", "nowhere"):
        asked = client.post("/v1/code/repositories", json={"root": str(root)})
        assert (asked.status_code, asked.json()["code"]) == (403, "access_denied")
    assert client.get("/v1/code/repositories").json() == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_route_reads_a_repository_that_lies_outside(
    serve: Serve, roots: tuple[Path, Path], attack: Attack
) -> None:
    inside, outside = roots
    attack(inside, outside)
    write(inside, secret="def launch_code():\n    return 0\n")
    client = serve(code_roots=(inside.parent,))
    root = {"root": str(inside)}
    replies = [
        client.post("/v1/code/check", json=root),
        client.post("/v1/code/rounds", json=root | {"instruction": "Launch."}),
        client.get("/v1/code/log", params=root | {"definition": "launch_code"}),
    ]
    for reply in replies:
        assert reply.status_code == (404 if attack is quoted else 403)
        assert "7331" not in reply.text
    indexed = client.post("/v1/code/repositories", json=root)  # reads no .git
    assert indexed.status_code == 200
    assert "7331" not in client.post("/v1/code/search", json={"query": "launch_code"}).text


def test_a_worktree_whose_repository_is_served_is_read(
    path: Path, roots: tuple[Path, Path]
) -> None:
    inside, outside = roots
    for owner in (inside, outside):
        git(owner, "worktree", "add", str(inside.parent / f"tree-{owner.name}"))

    async def act(url: str) -> None:
        async with Client(f"{url}/mcp") as client:
            root = str(inside.parent / "tree-inside")
            assert "nothing is undone" in await said(client, "code_check", root=root)
            root = str(inside.parent / "tree-outside")
            for tool, asked in (("code_check", {}), ("code_record", {"instruction": "Go."})):
                assert "may read" in await refused(client, tool, root=root, **asked)

    with serving(url=path, code_roots=(inside.parent,)) as url:
        anyio.run(act, url)
