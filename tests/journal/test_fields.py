"""The values of an entry's fields as they are stored."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from treering.journal.damage import Content, digest
from treering.journal.fields import metadata_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
VALUES = (
    TEXTS
    | st.integers()
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.dictionaries(TEXTS, VALUES | st.lists(VALUES, max_size=2), max_size=4))
def test_metadata_are_stored_in_one_form_of_json(metadata: dict[str, object]) -> None:
    canonical = json.dumps(metadata, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert metadata_json(metadata) == canonical  # type: ignore[arg-type]


@given(
    st.tuples(
        *(TEXTS, TEXTS, st.none() | TEXTS, st.none() | TEXTS, st.none() | TEXTS, TEXTS),
        st.none() | st.integers(),
    ),
    TEXTS,
)
def test_a_digest_is_that_of_a_list_in_json(content: Content, key: str) -> None:
    written = json.dumps([*content, key], ensure_ascii=False)
    assert digest(content, key) == hashlib.sha256(written.encode()).digest()
