"""``treering serve``: the server, and the keys that open it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from treering.cli.global_options import Globals, run_of_group
from treering.cli.options import command, option_group, spelled_out
from treering.cli.output import note
from treering.cli.run import Run
from treering.serve.settings import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    MAX_BYTES,
    MAX_CONNECTIONS,
    RECALL_TOKENS,
    REQUESTS_PER_S,
    ServerSettings,
)


class _Serve(TyperGroup):
    """Reads ``serve FILE`` as ``serve --memory FILE``, since a command group takes no arguments."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse what follows ``serve``."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["--memory", *args]
        return super().parse_args(ctx, args)


@option_group
@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Where the server listens, and what it allows."""

    host: Annotated[
        str, typer.Option(help="Address to listen on; others than this machine's need a key.")
    ] = DEFAULT_HOST
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = DEFAULT_PORT
    code_root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder whose repositories may be indexed over the network; may be repeated.",
        ),
    ] = None
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests a second that each key may make.")
    ] = REQUESTS_PER_S
    upstream: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="TREERING_UPSTREAM",
            show_envvar=False,
            help="OpenAI-compatible server that chats are passed on to, such as "
            "http://localhost:8080/v1; its key is read from $TREERING_UPSTREAM_KEY. "
            "Default: $TREERING_UPSTREAM.",
        ),
    ] = None
    recall: Annotated[
        int,
        typer.Option(
            min=0, metavar="TOKENS", help="Memories added to a chat that passes; 0 for none."
        ),
    ] = RECALL_TOKENS
    max_connections: Annotated[
        int, typer.Option(min=2, help="Connections that may be open at once.")
    ] = MAX_CONNECTIONS
    max_bytes: Annotated[
        int, typer.Option(min=1_024, help="Bytes of a request, or of a model's reply.")
    ] = MAX_BYTES
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Without keys, answer what a reverse proxy passes on: it decides who may ask.",
        ),
    ] = False

    def settings(self, run: Run) -> ServerSettings:
        """The server's settings: these, and the memory and the models of a run."""
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


app = typer.Typer(
    cls=_Serve,
    add_completion=False,
    pretty_exceptions_enable=False,
    subcommand_metavar="[FILE] [COMMAND]",
)
key = typer.Typer(add_completion=False, subcommand_metavar="[COMMAND]")
app.add_typer(key, name="key")


@app.callback(invoke_without_command=True)
@spelled_out
def serve(ctx: typer.Context, options: Globals, server: ServerOptions) -> None:
    """Serve the memory: REST, MCP, an OpenAI-compatible proxy and a page, until interrupted."""
    run = run_of_group(ctx, options)
    if run is None:
        return
    from treering.serve.run import run as serve_until_stopped

    run.ensure_there(create=True)
    serve_until_stopped(server.settings(run), lambda url: note(f"serving {run.place} on {url}"))


@key.callback(invoke_without_command=True)
@spelled_out
def list_keys(
    ctx: typer.Context,
    options: Globals,
    reopen: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Answer all callers on this machine without a key again, once no key is left.",
        ),
    ] = False,
) -> None:
    """List the keys of the server by id; their texts are not stored."""
    run = run_of_group(ctx, options)
    if run is None:
        return
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


@command(key)
def add(
    run: Run,
    label: Annotated[str | None, typer.Option(help="What the key is for.")] = None,
) -> None:
    """Make a key for the space given by --space, and print it. It cannot be shown again."""
    from treering.serve import keys

    with run.database(create=True) as database:
        text, made_key = keys.add(database, run.space, label)
    run.out.emit({"key": text, "id": made_key.id, "space": made_key.space}, text)
    note(f"key {made_key.id} opens the space {made_key.space!r}; keep it, it cannot be shown again")


@command(key)
def remove(
    run: Run, key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")]
) -> None:
    """Revoke a key; a running server refuses it within a second."""
    from treering.serve import keys

    with run.database() as database:
        keys.remove(database, key_id)
    note(f"removed key {key_id}")
