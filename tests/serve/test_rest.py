from __future__ import annotations

from starlette.testclient import TestClient


def test_what_was_added_is_found(client: TestClient) -> None:
    added = client.post("/v1/entries", json={"text": "Ana moved to Porto."})
    assert added.status_code == 201
    [entry_id] = added.json()["ids"]
    [hit] = client.post("/v1/search", json={"query": "Where is Porto?"}).json()
    assert hit["entry_id"] == entry_id
    assert abs(sum(hit["why"]["terms"].values()) - hit["score"]) < 1e-5


def test_a_conversation_is_added_and_listed_in_pages(client: TestClient) -> None:
    said = [{"role": "user", "content": f"word{number}", "mood": "fine"} for number in range(5)]
    client.post("/v1/entries", json={"messages": said, "source": "talk"})
    first = client.get("/v1/entries", params={"limit": 3}).json()
    rest = client.get("/v1/entries", params={"limit": 3, "cursor": first["next"]}).json()
    texts = [entry["text"] for entry in first["entries"] + rest["entries"]]
    assert texts == [f"word{number}" for number in range(5)]
    assert rest["next"] is None
    assert first["entries"][0]["metadata"] == {"mood": "fine"}
