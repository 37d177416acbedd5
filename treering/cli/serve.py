"""``treering serve``: the server, and the keys that open it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import typer

from treering.cli.options import command, group, opt, option_group
from treering.cli.output import note
from treering.cli.run import Run
from treering.cli.subapps import Group
from treering.serve.settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    MAX_BYTES,
    MAX_CONNECTIONS,
    RECALL_TOKENS,
    REQUESTS_PER_S,
    ServerSettings,
)


class _Serve(Group):
    """Reads ``serve FILE`` as ``serve --memory FILE``, since a command group takes no arguments."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse what follows ``serve``."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["--memory", *args]
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The address and the limits of the server."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    code_root: list[Path] | None = None
    rate: float = REQUESTS_PER_S
    upstream: str | None = None
    recall: int = RECALL_TOKENS
    max_connections: int = MAX_CONNECTIONS
    max_bytes: int = MAX_BYTES
    behind_proxy: bool = False

    def settings(self, run: Run) -> ServerSettings:
        """Return the server's settings: these, and the memory and the models of a run."""
        return ServerSettings(
            url=run.url,
            host=self.host,
            port=self.port,
            space=run.space,
            embedder=run.embedder,
            llm=run.llm,
            code_roots=tuple(root.resolve() for root in self.code_root or ()),
            requests_per_s=self.rate,
            upstream=self.upstream,
            upstream_key=os.environ.get("TREERING_UPSTREAM_KEY"),
            recall_budget=self.recall,
            max_connections=self.max_connections,
            max_bytes=self.max_bytes,
            behind_proxy=self.behind_proxy,
        )


option_group(
    ServerOptions,
    host="Address to listen on; others than this machine's need a key.",
    port=opt("Port to listen on; 0 for any free one.", min=0, max=65535),
    code_root=opt(
        "A folder whose repositories may be indexed over the network; may be repeated.",
        metavar="FOLDER",
    ),
    rate=opt("Requests a second that each key may make.", min=0.1),
    upstream=opt(
        "OpenAI-compatible server that chats are passed on to, such as http://localhost:8080/v1; "
        "its key is read from $TREERING_UPSTREAM_KEY. Default: $TREERING_UPSTREAM.",
        metavar="URL",
        envvar="TREERING_UPSTREAM",
        show_envvar=False,
    ),
    recall=opt("Memories added to a chat that passes; 0 for none.", min=0, metavar="TOKENS"),
    max_connections=opt("Connections at the same time.", min=2),
    max_bytes=opt("Bytes of a request, or of a model's reply.", min=1_024),
    behind_proxy="Without keys, answer requests from a reverse proxy: it decides who may ask.",
)

app = typer.Typer(
    cls=_Serve,
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="[FILE] [COMMAND]",
)
key = typer.Typer(cls=Group, add_completion=False, subcommand_metavar="[COMMAND]")
app.add_typer(key, name="key")


@group(app)
def serve(run: Run, server: ServerOptions) -> None:
    """Serve the memory: REST, MCP, an OpenAI-compatible proxy and a page, until interrupted."""
    from treering.serve.run import run as serve_until_stopped

    run.ensure_there(create=True)
    serve_until_stopped(server.settings(run), lambda url: note(f"serving {run.place} on {url}"))


@group(
    key,
    reopen=opt(
        "Answer all callers on this machine without a key again, once no key is left.", "--open"
    ),
)
def list_keys(run: Run, reopen: bool = False) -> None:
    """List the keys of the server by id; their texts are not stored."""
    from treering.serve import keys

    with run.database() as database:
        if reopen:
            keys.open_again(database)
            note("this memory needs no key on this machine any more")
            return
        listed = keys.list_keys(database)
    for entry in listed:
        label = f"  {entry.label}" if entry.label else ""
        run.out.emit(entry, (entry.id, "dim"), f"  {entry.created:%Y-%m-%d}  {entry.space}{label}")


@command(key, label="The purpose of the key.")
def add(run: Run, label: str | None = None) -> None:
    """Make a key for the space given by --space, and print it. It cannot be shown again."""
    from treering.serve import keys

    with run.database(create=True) as database:
        text, made_key = keys.add(database, run.space, label)
    run.out.emit({"key": text, "id": made_key.id, "space": made_key.space}, text)
    note(f"key {made_key.id} opens the space {made_key.space!r}; keep it, it cannot be shown again")


@command(key, key_id=opt("The key's id.", metavar="ID"))
def remove(run: Run, key_id: str) -> None:
    """Revoke a key; a running server refuses it within a second."""
    from treering.serve import keys

    with run.database() as database:
        keys.remove(database, key_id)
    note(f"removed key {key_id}")
