"""``treering serve``: the server, and the keys that open it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from treering.cli.moments import FORMS_TO_COME
from treering.cli.options import MomentToCome, command, group, opt, options_of
from treering.cli.output import note
from treering.cli.run import Run
from treering.cli.subapps import Group, sub_app
from treering.errors import InputError
from treering.journal.ledger import Quota
from treering.serve.settings import DEFAULT_HOST, DEFAULT_PORT, ServerSettings


class _Serve(Group):
    """Reads ``serve FILE`` as ``serve --memory FILE``, since a command group takes no arguments."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse what follows ``serve``."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["--memory", *args]
        return super().parse_args(ctx, args)


if TYPE_CHECKING:
    Limits = Any
else:
    Limits = options_of(
        ServerSettings,
        *("requests_per_s", "upstream", "recall_budget", "max_connections"),
        *("max_bytes", "log_requests", "issuer", "resource", "settle_tokens"),
        requests_per_s=opt("Requests a second that each key may make.", "--rate", min=0.1),
        upstream=opt(
            "OpenAI-compatible server that chats are passed on to, such as "
            "http://localhost:8080/v1; its key is read from $TREERING_UPSTREAM_KEY. Default: "
            "$TREERING_UPSTREAM.",
            metavar="URL",
            envvar="TREERING_UPSTREAM",
            show_envvar=False,
        ),
        recall_budget=opt(
            "Memories added to a chat that passes; 0 for none.",
            "--recall",
            min=0,
            metavar="TOKENS",
        ),
        max_connections=opt("Connections at the same time.", min=2),
        max_bytes=opt("Bytes of a request, or of a model's reply.", min=1_024),
        log_requests="Write a line for each request, with an id that its reply has, too.",
        issuer=opt("OAuth 2.1 issuer whose tokens open the server, beside keys.", metavar="URL"),
        resource=opt("Address of /mcp as clients write it: the audience of tokens.", metavar="URL"),
        settle_tokens=opt(
            "Tokens a day of the language model for pending work, done while no request runs.",
            "--settle",
            min=0,
            metavar="TOKENS",
        ),
    )

app = sub_app(_Serve, subcommand_metavar="[FILE] [COMMAND]")
key = sub_app(subcommand_metavar="[COMMAND]")
app.add_typer(key, name="key")


@group(
    app,
    host="Address to listen on; others than this machine's need a key.",
    port=opt("Port to listen on; 0 for any free one.", min=0, max=65535),
    code_root=opt(
        "A folder whose repositories may be indexed over the network; may be repeated.",
        metavar="FOLDER",
    ),
    quota_entries=opt("Entries that each space may hold. Default: any number.", min=1),
    quota_bytes=opt("Bytes of text and metadata that each space may hold.", min=1_024),
    grant=opt(
        "What a claim of a token allows, such as 'groups=crew read,add team' or "
        "'sub=* full user-{}'; may be repeated.",
        metavar="'CLAIM=VALUE ROLES SPACE'",
    ),
)
def serve(
    run: Run,
    limits: Limits,
    host: str = DEFAULT_HOST,
    port: int = DEFAULT_PORT,
    code_root: list[Path] | None = None,
    quota_entries: int | None = None,
    quota_bytes: int | None = None,
    grant: list[str] | None = None,
) -> None:
    """Serve the memory: REST, MCP, an OpenAI-compatible proxy and a page, until interrupted."""
    from treering.serve.run import run as serve_until_stopped

    run.ensure_there(create=True)
    settings = ServerSettings(
        run.url,
        host,
        port,
        run.space,
        embedder=run.embedder,
        llm=run.llm,
        code_roots=tuple(root.resolve() for root in code_root or ()),
        upstream_key=os.environ.get("TREERING_UPSTREAM_KEY"),
        quota=Quota(quota_entries, quota_bytes),
        grants=tuple(grant or ()),
        **asdict(limits),
    )
    serve_until_stopped(settings, lambda url: note(f"serving {run.place} on {url}"))


@group(
    key,
    reopen=opt(
        "Answer all callers on this machine without a key again, once no key is left.", "--open"
    ),
    remove=opt("Revoke this key; a running server refuses it within a second.", metavar="ID"),
)
def list_keys(run: Run, reopen: bool = False, remove: str | None = None) -> None:
    """List the keys of the server by id, or remove one; their texts are not stored."""
    from treering.serve import keys

    with run.database() as database:
        if remove is not None:
            keys.remove(database, remove)
            note(f"removed key {remove}")
            return
        if reopen:
            keys.open_again(database)
            note("this memory needs no key on this machine any more")
            return
        listed = keys.list_keys(database)
        is_closed = keys.keys_by_digest(database)[1]
    if not listed:
        refused = "every request is refused; `treering serve key --open` ends this"
        note(f"no keys; {refused if is_closed else 'on this machine, no request needs one'}")
    for entry in listed:
        notes = [
            entry.label,
            f"until {entry.expires:%Y-%m-%d %H:%M}" if entry.expires else None,
            f"used {entry.used:%Y-%m-%d %H:%M}" if entry.used else "not used",
        ]
        date, roles = f"  {entry.created:%Y-%m-%d}  ", f"  {','.join(entry.roles)}  "
        text = f"{date}{entry.space}{roles}{'  '.join(filter(None, notes))}"
        run.out.emit(entry, (entry.id, "dim"), text)


@command(
    key,
    label="The purpose of the key.",
    role=opt(
        "What it may do: read, add, full or operator; may be repeated. Default: full.",
        metavar="ROLE",
    ),
    expires=f"When it ends: {FORMS_TO_COME}.",
    to=opt("Let this key open the space, too.", metavar="ID"),
    rotate=opt("Make a key in place of this one, which ends in a day.", metavar="ID"),
)
def add(
    run: Run,
    label: str | None = None,
    role: list[str] | None = None,
    expires: MomentToCome = None,
    to: str | None = None,
    rotate: str | None = None,
) -> None:
    """Make a key for the space given by --space, and print it. It cannot be shown again.

    In the name of the space, * stands for any characters.
    """
    from treering.serve import keys

    if (to and (rotate or label or expires)) or (rotate and (role or label or expires)):
        raise InputError(
            "--to goes with --role only, and --rotate with no option; leave the others out"
        )
    with run.database(create=not (to or rotate)) as database:
        if to:
            opened = keys.extend(database, to, run.space, role or ["full"])
            run.out.emit(opened, f"key {to} opens the space {opened.space!r}")
            return
        if rotate:
            text, made_key = keys.rotate(database, rotate)
        else:
            text, made_key = keys.add(database, run.space, label, role or ["full"], expires)
    run.out.emit({"key": text, "id": made_key.id, "space": made_key.space}, text)
    note(
        f"made key {made_key.id} for the space {made_key.space!r}. The key was "
        "written to stdout: store it now, it is not shown again"
    )
    if rotate:
        note(f"key {rotate} is valid for one more day; end it with `treering serve key --remove`")
