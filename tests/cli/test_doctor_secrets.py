"""`treering doctor --secrets` and `treering add --mask`."""

from __future__ import annotations

from tests.cli.conftest import Treering
from tests.ingest.test_secrets import TOKENS


def test_the_doctor_finds_what_an_old_memory_holds_without_showing_it(
    treering: Treering,
) -> None:
    token = TOKENS["Stripe Access Key"]
    assert treering("add", "nothing here").exit_code == 0
    assert "none in 1 entry of" in treering("doctor", "--secrets").stdout
    treering("add", f"pay with {token}", "--text")
    done = treering("doctor", "--secrets")
    assert done.exit_code == 6
    assert "1 Stripe Access Key; `treering forget " in done.stdout
    assert token not in done.stdout + done.stderr
    masked = treering("add", f"again {token}", "--text", "--mask")
    assert masked.stdout == "added 1 entry, 1 masked\n"


def test_the_doctor_looks_for_secrets_in_every_space(treering: Treering) -> None:
    token = TOKENS["Stripe Access Key"]
    treering("add", f"pay with {token}", "--text", "--space", "ana")
    treering("add", "nothing here", "--space", "ben")
    done = treering("doctor", "--secrets")
    assert done.exit_code == 6
    assert "`treering forget --space ana " in done.stdout
    assert "none in 1 entry of 'ben'" in done.stdout
    assert treering("doctor", "--secrets", "--space", "ben").exit_code == 0
