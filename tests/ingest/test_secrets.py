"""Secrets are masked on the way in, where that is asked for; what only looks random stays."""

from __future__ import annotations

import base64
import json
import random
import uuid
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Open
from tests.ingest.clients import claude_line, write_lines
from treering import Memory
from treering.errors import EmptyText
from treering.ingest.secrets import Cleaner, secrets_in
from treering.ingest.transcripts.importing import new_lines

# Put together here, so that no scanner of this repository takes them for real ones.
LETTERS = "aB3dE5gH7jK9mN1pQ2sT4vW6xY8zA0cD" * 4
TOKENS = {
    "AWS Access Key": "AKIA" + "IOSFODNN7EXAMPLE"[:16],
    "GitHub Token": "ghp_" + LETTERS[:36],
    "API Key": "sk-ant-" + "api03-" + LETTERS[:40],
    "OpenAI Token": "sk-" + LETTERS[:20] + "T3BlbkFJ" + LETTERS[:20],
    "Google API Key": "AIza" + LETTERS[:35],
    "Hugging Face Token": "hf_" + LETTERS[:34],
    "Slack Token": "xoxb-" + "123456789012-" + LETTERS[:24],
    "Stripe Access Key": "sk_live_" + LETTERS[:24],
    "GitLab Token": "glpat-" + LETTERS[:20],
    "npm Token": "npm_" + LETTERS[:36],
    "SendGrid API Key": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "treering Key": "tr_" + LETTERS[:43],
    "PyPI Token": "pypi-AgEIcHlwaS5vcmc" + LETTERS[:80],
}


def test_a_token_is_found_whole_wherever_it_stands() -> None:
    for kind, token in TOKENS.items():
        for frame in ("{}", "the key is {}.", 'export KEY="{}"\n', "({})", "KEY={}", "a {} b {} c"):
            text = frame.replace("{}", token)
            found = secrets_in(text)
            assert {text[one.start : one.end] for one in found} == {token}
            assert kind in {one.kind for one in found}
            assert token not in Cleaner().clean(text)


def test_what_a_name_says_is_a_secret_is_masked_and_the_name_stays() -> None:
    cases = [
        ("postgres://ana:hunter2@db.example.org/shop", "hunter2"),
        ("password: correct7horse", "correct7horse"),
        ("DB_PASSWORD=pa55-word!x", "pa55-word!x"),
        ('{"client_secret": "9f8e7d6c5b4a"}', "9f8e7d6c5b4a"),
        ("my password is Tr0ub4dor&3, do not tell", "Tr0ub4dor&3"),
        ("Authorization: Bearer abcdefghijklmnop.qrstuvwx", "abcdefghijklmnop.qrstuvwx"),
        ("api-key := 'k3y-k3y-k3y'", "k3y-k3y-k3y"),
        ("My password is hunter2.", "hunter2"),
        ("The password for FTP is Qw3rTy!77.", "Qw3rTy!77"),
        ("das Passwort für den alten Router: Qw3rTy!77", "Qw3rTy!77"),
    ]
    for text, secret in cases:
        cleaned = Cleaner().clean(text)
        assert secret not in cleaned
        assert cleaned.split("[masked: ")[0] == text.split(secret)[0]


def test_a_password_is_masked_in_the_most_common_languages_and_nothing_beside_it() -> None:
    cases = [
        "The password is {}.",
        "My passcode: {}",
        "我的密码是{}。",
        "密碼：{}",
        "मेरा पासवर्ड {} है।",
        "पासवर्ड: {}",
        "Mi contraseña es {}.",
        "La clave: {}",
        "Mon mot de passe est « {} ».",
        "mot de passe : {}",
        "كلمة المرور هي {}.",
        "كلمة السر: {}",
        "আমার পাসওয়ার্ড হল {}।",
        "A minha senha é {}.",
        "Мой пароль: {}.",
        "Пароль — {}",
        "میرا پاس ورڈ {} ہے۔",
        "Kata sandi saya adalah {}.",
        "Mein Passwort ist {}.",
        "Das WLAN-Kennwort lautet „{}“.",
        "パスワードは「{}」です。",
        "パスワードは{}です。",
        "パスワード: {}",
        "माझा पासवर्ड {} आहे.",
        "నా పాస్‌వర్డ్: {}",
        "Şifrem {}.",
        "Şifre: {}",
        "என் கடவுச்சொல்: {}",
        "Mật khẩu của tôi là {}.",
        "제 비밀번호는 {}입니다.",
        "La mia password è {}.",
        "La chiave è {}",
    ]
    for text in cases:
        cleaned = Cleaner().clean(text.format("Sommer2024xY"))
        assert cleaned == text.format("[masked: Password or Key]")


def test_a_pin_is_masked() -> None:
    for text in (
        "PIN: {}",
        "Mein PIN-Code ist {}.",
        "暗証番号は{}です。",
        "ПИН-код: {}",
        "Mi NIP es {}.",
    ):
        assert Cleaner().clean(text.format("4711")) == text.format("[masked: PIN]")


def test_the_full_stop_behind_a_secret_stays() -> None:
    for text in ("password: correct7horse.", "Authorization: Bearer abcdefghij0123456789."):
        assert Cleaner().clean(text).endswith("].")
    assert Cleaner().clean("password: Summer2024!") == "password: [masked: Password or Key]"


def test_a_secret_is_found_in_a_long_text_wherever_it_stands() -> None:
    text = (
        "The cat sleeps. " * 50 + "Passwort: Sommer2024xY" + " It is 2024 now, see B52-bomber." * 50
    )
    assert Cleaner().clean(text) == text.replace("Sommer2024xY", "[masked: Password or Key]")


def test_a_private_key_goes_with_its_body_also_where_it_is_cut_off() -> None:
    body = "\n".join([LETTERS[:64]] * 3)
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    assert Cleaner().clean(f"see\n{key}\nthere") == "see\n[masked: Private Key]\nthere"
    assert LETTERS[:20] not in Cleaner().clean(key[:120])


def test_a_web_token_goes_with_its_signature() -> None:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (
        {"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "Ana"}))  # fmt: skip
    token = ".".join([*parts, LETTERS[:43]])
    assert Cleaner().clean(f"cookie {token};") == "cookie [masked: JSON Web Token];"


HARMLESS = [
    "commit 894192a1f0c3b2d4e5f60718293a4b5c6d7e8f90",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "see 123e4567-e89b-12d3-a456-426614174000",
    "The token count is 1024 and max_tokens = 4096.",
    "password = os.environ['DB_PASSWORD']",
    "password: ${DB_PASSWORD_2}",
    "secret: str | None = None",
    "Forgot your password? The password must have eight characters.",
    "https://example.org:8080/path@v2",
    "def token(self) -> str: ...",
    "api_key = get_api_key(name)",
    "token=<your-token-here>",
    "password: xxxxxxxx1",
    "my password is safe with him",
    "The password for the second floor is with Ana, who has flat 12b.",
    "The token is 32-bit, the secret: 1000px, the password is 8-digit.",
    "My secret is that I like Porto.",
    "AKIA is how they begin; sk-something is short",
    "The token is base64-encoded, and the secret is SHA-256-hashed.",
    "The password has 12 characters; the PIN has 4 digits, or PIN: 5 to 8 of them.",
    "GPIO pin: 4711, PIN: 2024-03-01",
    "密码是8位数字和字母组合，必须包含大写。",
    "密码: 至少8位abc",
    "पासवर्ड 8 अक्षरों का है और हर 90 दिन में बदलता है।",
    "La contraseña es de 12 caracteres y la clave es larga.",
    "Le mot de passe est trop court : il faut 12 caractères.",
    "كلمة المرور هي 12 حرفا وتتغير كل 90 يوما",
    "পাসওয়ার্ড হল ১২ অক্ষরের।",
    "A senha é longa e tem 12 caracteres; a chave é de 256 bits.",
    "Пароль — это 12 символов, ключ это 256 бит.",
    "پاس ورڈ 12 حروف کا ہے",
    "Kata sandi adalah rahasia dan terdiri dari 12 karakter.",
    "Das Passwort ist zwölfstellig; es ist 12 Zeichen lang. Kennwort: siehe Abschnitt 4b.",
    "パスワードは8文字以上です。暗証番号は4桁です。",
    "పాస్‌వర్డ్: 12 అక్షరాలు",
    "Şifre 12 karakter olmalı; şifrem yok.",
    "கடவுச்சொல்: 12 எழுத்துகள்",
    "Mật khẩu là 12 ký tự.",
    "비밀번호는 8자리이고 90일마다 바뀝니다.",
    "La password è lunga 12 caratteri; la chiave è sotto il vaso.",
]


def test_what_only_looks_like_a_secret_stays() -> None:
    for text in HARMLESS:
        assert secrets_in(text) == []


def test_random_digests_ids_and_pictures_are_hardly_ever_taken_for_secrets() -> None:
    generator = random.Random(7)
    alarms = 0
    for _ in range(300):
        alarms += bool(secrets_in(f"merge {generator.randbytes(20).hex()} into main"))
        alarms += bool(secrets_in(str(uuid.UUID(bytes=generator.randbytes(16)))))
    picture = base64.b64encode(generator.randbytes(1_000_000)).decode()
    assert alarms == 0
    assert secrets_in(f"![x](data:image/png;base64,{picture})") == []


def test_private_passages_go_whole_also_where_they_are_not_closed() -> None:
    cleaner = Cleaner()
    assert cleaner.clean("a<private>b\nc</private>d <PRIVATE>e</Private>f<private>g") == "ad f"
    assert (cleaner.private, cleaner.masked) == (3, 0)


@given(st.text(st.sampled_from("aB3 =:/<>\"'\n-_.@+"), max_size=300))
def test_cleaning_takes_secrets_out_and_nothing_else(text: str) -> None:
    apart = secrets_in(text)
    assert all(0 <= one.start < one.end <= len(text) for one in apart)
    assert all(before.end <= after.start for before, after in pairwise(apart))
    if not apart:
        assert Cleaner().clean(text) == text


def test_a_text_is_stored_as_it_is_unless_masking_is_asked_for(
    open_memory: Open, path: Path
) -> None:
    token = TOKENS["GitHub Token"]
    memory = open_memory()
    memory.add(f"open {token}")
    receipt = memory.add(f"shut {token} <private>hush</private>", mask=True)
    assert (receipt.masked, receipt.private) == (1, 1)
    assert [entry.text for entry in memory.entries()] == [
        f"open {token}",
        "shut [masked: GitHub Token] ",
    ]
    memory.forget(next(iter(memory.entries())).id)
    assert token.encode() not in path.read_bytes()
    with pytest.raises(EmptyText):
        memory.add("<private>all of it</private>", mask=True)


def test_messages_and_files_are_masked_too(memory: Memory, tmp_path: Path) -> None:
    token = TOKENS["npm Token"]
    messages = [
        {"role": "user", "content": f"use {token}"},
        {"role": "user", "content": "<private>x</private>"},
    ]
    receipt = memory.add(messages, mask=True)
    assert (receipt.added, receipt.masked, receipt.private) == (2, 1, 1)
    notes = tmp_path / "notes.md"
    notes.write_text(f"{token}\n<private>\nlong\n</private>\nend", "utf-8")
    assert memory.add(notes, mask=True).masked == 1
    assert memory.add(notes, mask=True).unchanged == 1
    notes.write_text(f"{token} {token}", "utf-8")
    assert memory.add(notes, mask=True).masked == 2
    assert [entry.text for entry in memory.entries()] == [
        "use [masked: npm Token]",
        "[private]",
        "[masked: npm Token] [masked: npm Token]",
    ]


def test_front_matter_is_masked_like_the_text_that_holds_it(
    memory: Memory, path: Path, tmp_path: Path
) -> None:
    token = TOKENS["OpenAI Token"]
    note = tmp_path / "note.md"
    note.write_text(
        f"---\ntitle: Boiler\napi_key: {token}\npassword: correct7horse\n"
        "date: <private>2019-01-02</private>\nowner: Ana<private>\nwhispered\n</private>\n"
        f"tags: [{token}, heating, <private>hushed</private>]\n"
        f"links:\n  - {token}\n  - <private>quiet\n    secluded</private>\n  - house\n"
        "mood: <private>gloomy</private>\n---\nServiced.\n",
        "utf-8",
    )
    receipt = memory.add(note, mask=True)
    assert (receipt.masked, receipt.private) == (4, 5)  # each once, though metadata has it, too
    [entry] = memory.entries()
    mark = "[masked: OpenAI Token]"
    assert entry.metadata == {
        "title": "Boiler",
        "api_key": mark,
        "password": "[masked: Password or Key]",
        "owner": "Ana",
        "tags": [mark, "heating"],
        "links": [mark, "house"],
    }
    assert entry.at is not None
    assert entry.at.year > 2019
    stored = "".join(memory.export()).encode()
    stored += b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    for hidden in (
        token,
        "correct7horse",
        "2019-01-02",
        "whispered",
        "hushed",
        "secluded",
        "gloomy",
    ):
        assert hidden.encode() not in stored


def test_past_conversations_are_masked_unless_told_otherwise(
    memory: Memory, open_memory: Open, tmp_path: Path
) -> None:
    token = TOKENS["API Key"]
    path = write_lines(
        tmp_path / "s.jsonl",
        [
            claude_line(1, "user", f"The key is {token} <private>and this</private>"),
            claude_line(2, "user", "<private>nothing of this</private>"),
        ],
    )
    receipt = memory.import_(path)
    assert (receipt.added, receipt.masked, receipt.private) == (1, 1, 1)
    assert receipt.omitted == {"messages that are private as a whole": 1}
    again = memory.import_(path)
    assert (again.unchanged, again.masked, again.private) == (1, 0, 0)
    assert [entry.text for entry in memory.entries()] == ["The key is [masked: API Key] "]
    assert token not in "".join(new_lines(path).lines)
    plain = open_memory(tmp_path / "plain.db")
    assert plain.import_(path, mask=False).masked == 0
    assert token in next(iter(plain.entries())).text


def test_metadata_and_calls_of_tools_are_masked_too(memory: Memory, path: Path) -> None:
    token = TOKENS["GitHub Token"]
    call = {"function": {"name": "login", "arguments": f'{{"token": "{token}"}}'}}
    message = {
        "role": "assistant",
        "content": "I log in.",
        "tool_calls": [call],
        "metadata": {"password": "correct7horse", "notes": ["<private>hush</private>", "sunny"]},
    }
    receipt = memory.add([message], mask=True)
    [entry] = memory.entries()
    assert (receipt.masked, receipt.private) == (2, 1)
    assert entry.metadata["notes"] == ["", "sunny"]
    assert '"name": "login"' in json.dumps(entry.metadata["tool_calls"])
    stored = path.read_bytes() + "".join(memory.export()).encode()
    assert not any(word.encode() in stored for word in (token, "correct7horse", "hush"))
