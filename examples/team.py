"""Two people and a team on one server: keys for programs, sign-in for agents.

Make the keys, give each to its owner, and start the server:

    treering serve key add --space user-ana -m studio.db           # prints a key, and its id
    treering serve key add --space team --to ID_OF_ANA -m studio.db
    treering serve key add --space user-ben -m studio.db
    treering serve key add --space team --role read --role add --to ID_OF_BEN -m studio.db
    treering serve studio.db --issuer https://id.example.org --resource http://127.0.0.1:7373/mcp \
        --grant 'sub=* full user-{}' --grant 'groups=crew read,add team'
    python -m examples.team http://127.0.0.1:7373 KEY_OF_ANA KEY_OF_BEN
"""

from __future__ import annotations

import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from treering import Memory

QUESTION = "When does the client pay, and when do we deliver?"


def play(url: str, ana_key: str, ben_key: str) -> None:
    """Let Ana, who leads the team, share a note, and Ben propose one; both ask over REST."""
    with (
        Memory.open(url, space="user-ana", api_key=ana_key) as ana,
        Memory.open(url, space="team", api_key=ana_key, create=True) as lead,
        Memory.open(url, space="user-ben", api_key=ben_key) as ben,
        Memory.open(url, space="team", api_key=ben_key) as member,
    ):
        lead.configure(agents="propose")  # additions with the roles read and add wait
        note = ana.add("The client in Porto pays within thirty days.")
        ana.add("I want to ask for a raise in May.")
        ana.share(note.ids, to="team")
        ben.add("I applied at another studio.")
        [proposal] = member.add("The studio delivers on Fridays.").ids
        lead.restore(proposal)  # accept it
        for person, name in ((ana, "ana"), (ben, "ben")):
            for hit in person.search(QUESTION, spaces=[f"user-{name}", "team"]):
                print(f"{name} finds in {hit.space}: {hit.text}")


async def recall(url: str, name: str, sign_in: httpx2.Auth) -> str:
    """Ask the space of a user and that of the team over MCP, as the user's agent.

    ``sign_in`` is an ``mcp.client.auth.OAuthClientProvider``, which opens the user's browser.
    """
    spaces = [f"user-{name}", "team"]
    async with (
        httpx2.AsyncClient(auth=sign_in) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        reply = await client.call_tool("recall", {"query": QUESTION, "spaces": spaces})
        return "\n".join(part.text for part in reply.content if part.type == "text")


if __name__ == "__main__":
    play(*sys.argv[1:])
