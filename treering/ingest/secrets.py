"""Texts that must not be stored: passages marked private, and keys, tokens and passwords.

The patterns are those of detect-secrets, used as patterns alone: nothing is ever sent anywhere to
try whether a key works. A few kinds of token that it does not know are added here. Only what has
the form of a secret is found; random-looking text is not, since commits, digests and pictures look
random.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from treering.records import Receipt

PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.DOTALL | re.IGNORECASE)
"""A passage that its author wants deleted; one that is not closed goes on to the end."""

MARK_START = "[masked: "

WINDOW_CHARS = 8_192
OVERLAP_CHARS = 512
"""A key that lies across a border lies within the next window."""

AROUND_CHARS = 64
"""A name and a verb are so near to the secret."""

_LETTER_OR_DIGIT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")

_OWN_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "Private Key",
        re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:.{0,20000}?-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
            r"|[\sA-Za-z0-9+/=\\:,-]*)",  # one that was cut off
            re.DOTALL,
        ),
    ),
    ("API Key", re.compile(r"(?<![\w-])sk-(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{20,}")),
    ("OpenAI Token", re.compile(r"(?<![\w-])sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}")),
    ("npm Token", re.compile(r"(?<!\w)npm_[A-Za-z0-9]{36}|:_authToken=\s{0,3}([A-Fa-f0-9-]{36})")),
    ("GitHub Token", re.compile(r"(?<![\w-])github_pat_[A-Za-z0-9_]{22,}")),
    ("Google API Key", re.compile(r"AIza[0-9A-Za-z_-]{35}")),
    ("Google Token", re.compile(r"ya29\.[0-9A-Za-z_-]{20,}")),
    ("Hugging Face Token", re.compile(r"(?<![\w-])hf_[A-Za-z0-9]{30,}")),
    ("Slack Token", re.compile(r"xox[abeoprs]-[A-Za-z0-9-]{20,}|xapp-\d-[A-Za-z0-9-]{20,}")),
    ("treering Key", re.compile(r"(?<![\w-])tr_[A-Za-z0-9_-]{32,}")),
    (
        "Bearer Token",
        re.compile(r"(?i:authorization:\s*(?:bearer|basic)\s+)([\w.~+/-]{16,}(?<!\.)=*)"),
    ),
    (
        "Basic Auth Credentials",
        re.compile(r"://[^\s:/?#\[\]@!$&'()*+,;=]{1,100}:([^\s:/?#\[\]@]{1,200})@"),
    ),
    ("JSON Web Token", re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]+)?")),
)

_NAMES: Final = "|".join(
    (
        r"api[_-]?key|access[_-]?key|auth[_-]?key|secret|token",
        r"passw(?:or)?d|passphrase|passcode|pwd",
        r"passwort|kennwort|zugangscode|api-schlüssel",  # German
        r"contraseña|clave|secreto",  # Spanish
        r"mots? de passe|phrase secrète|clé(?: api| secrète| d['’]accès)?|jeton",  # French
        r"senha|palavra-passe|chave|segredo",  # Portuguese
        r"parola d['’]ordine|chiave|segreto",  # Italian
        r"парол[ья]|ключ(?: api| доступа)?|секрет|токен",  # Russian
        r"(?:kata )?sandi(?: saya|ku)?|kunci(?: api)?|rahasia",  # Indonesian
        r"mật khẩu(?: của tôi)?|mã bí mật|khóa(?: api)?",  # Vietnamese
        r"كلمة (?:ال)?(?:مرور|سر)ي?(?: الخاصة بي)?|الرمز السري",  # Arabic
        r"پاس ?ورڈ|خفیہ لفظ",  # Urdu
        r"पासवर्ड|कूटशब्द|संकेतशब्द",  # Hindi, Marathi
        r"পাসও(?:য়|য়)ার্ড",  # Bengali, its y in both spellings
        r"పాస్\u200c?వర్డ్|సంకేతపదం",  # Telugu
        r"கடவுச்சொல்|பாஸ்வேர்ட்",  # Tamil
    )
)
"""A password and its kind in the most common languages."""

_STUCK_NAMES: Final = "|".join(
    (
        r"密[码碼]|口令|密[钥鑰]|令牌",  # Chinese
        r"パスワード|パスフレーズ|暗証番号|合言葉",  # Japanese
        r"비밀번호|암호|패스워드|비번",  # Korean
        r"(?:şifre|parola)(?:niz|nız|si|sı)?",  # Turkish
    )
)
"""The same where the verb sticks to them."""

_IS: Final = r"(?:is|ist|lautet|heißt|es|est|é|è|это|adalah|ialah|là|هي|هو|हैं?|আছে|হল|হলো)(?!\w)"
_STUCK_IS: Final = r"是|为|為|は|が|는|은|이|가|m(?!\w)"
_IS_BEHIND: Final = r"हैं?|आहे|আছে|ہے|です|だ|입니다|이다"
"""The verb of languages in which it comes last."""

_OF: Final = r"\s(?:for|to|of|für|para|pour|per|для)(?:\s[^\s.:]{1,30}){1,3}?"
"""What the password is for, in up to three words."""

_SIGN: Final = r"=>|:=|={1,3}|[:：—–]"
_VALUE: Final = (
    # no letters of scripts without spaces: the next word would begin right behind the secret
    r"[^\s\"'`,;()<>{}\[\]«»“”„،؛؟।۔\u3000-\u9fff\uac00-\ud7a3\uff01-\uff1f]{6,200}(?<!\.)"
)

_ASSIGNED = re.compile(
    rf"""(?:(?:{_NAMES})(?!\w)["'`]?(?:{_OF})?\s{{0,5}}(?:{_SIGN}|{_IS})|"""
    rf"""(?:{_STUCK_NAMES})["'`]?\s{{0,5}}(?:{_SIGN}|{_STUCK_IS}))"""
    rf"""\s{{0,5}}(?:["'`“„「『]|«\s?)?(?P<value>{_VALUE})"""
    rf"""|(?:{_NAMES})\s{{1,5}}["'`]?(?P<before>{_VALUE})(?=["'`]?\s{{0,5}}(?:{_IS_BEHIND}))""",
    re.IGNORECASE,
)
"""A name that says it holds a secret, and its value. ``_looks_secret`` decides whether that is
one."""

_LONG_WORD = re.compile(r"\S{6,}")
_DIGIT = re.compile(r"\d")

_PIN = re.compile(
    r"(?:(?<!\w)(?:PIN|ПИН|NIP)(?:[- ]?[Cc]ode|-?Nummer|-код)?|Geheimzahl|暗証番号|密[码碼])"
    rf"\s{{0,5}}(?:{_SIGN}|{_IS}|{_STUCK_IS})\s{{0,5}}(?P<value>\d{{4,8}})(?![A-Za-z]|[.,:/-]?\d)"
)

_NO_VALUE = re.compile(
    r"[$%~./\\]|https?:|os\.|process\.|env\.|self\.|config\.|\d{4}-\d\d-\d\d|(.)\1{5}|\w+\.\w+\.\w+"
    r"|(?=.{6,7}\Z)\d{1,4}-?[^\W\d_]+\Z|(?i:aes|argon|base|ecdsa|hs|md|oauth|rsa?|sha|utf)-?\d{1,4}(?![^\W_])"
)
"""How values begin that are references, paths, dates, place-holders and algorithms; and
short numbers with a unit."""


@dataclass(frozen=True, slots=True)
class Secret:
    """Where in a text something has the form of a secret, and which."""

    kind: str
    start: int
    end: int


@dataclass(slots=True)
class Cleaner:
    """Takes out of texts what must not be stored, and counts it."""

    masked: int = 0
    private: int = 0

    def count(self, receipt: Receipt) -> Receipt:
        """Return a receipt with the counts, unless nothing was added."""
        if not receipt.added:
            return receipt
        return replace(receipt, masked=self.masked, private=self.private)

    def clean(self, text: str) -> str:
        """The text without private passages, a mark in the place of every secret."""
        text, count = PRIVATE.subn("", text)
        self.private += count
        parts: list[str] = []
        stop = 0
        for secret in secrets_in(text):
            parts += [text[stop : secret.start], f"{MARK_START}{secret.kind}]"]
            stop = secret.end
            self.masked += 1
        return "".join([*parts, text[stop:]])


def secrets_in(text: str) -> list[Secret]:
    """The secrets in a text, in order; where two overlap, the one that begins first."""
    apart: list[Secret] = []
    for secret in sorted(_candidates(text), key=lambda secret: (secret.start, -secret.end)):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return apart


def _candidates(text: str) -> Iterator[Secret]:
    for kind, pattern in _OWN_PATTERNS:
        yield from _matches(kind, pattern, text, 0)
    # Some of these look ahead without bound: they run over windows of a long text.
    for offset in range(0, max(len(text), 1), WINDOW_CHARS - OVERLAP_CHARS):
        window = text[offset : offset + WINDOW_CHARS]
        for kind, pattern in _library_patterns():
            yield from _matches(kind, pattern, window, offset)
    for begin, end in _parts_with_digits(text):
        for match in _ASSIGNED.finditer(text, begin, end):
            group = match.lastgroup or 0
            if _looks_secret(match[group]):
                yield Secret("Password or Key", *match.span(group))
    for match in _PIN.finditer(text):
        yield Secret("PIN", *match.span("value"))


def _parts_with_digits(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that long words with a digit are in, with the text around them.

    Most text lacks them, and to look for each name everywhere takes four times as long.
    """
    begin = end = 0
    for word in _LONG_WORD.finditer(text):
        if _DIGIT.search(text, *word.span()):
            if word.start() - AROUND_CHARS > end:
                yield begin, end
                begin = word.start() - AROUND_CHARS
            end = word.end() + AROUND_CHARS
    yield begin, end


def _matches(kind: str, pattern: re.Pattern[str], text: str, offset: int) -> Iterator[Secret]:
    # In other kinds groups are parts of the secret, and all of it is.
    group = 1 if kind in _NAMED_VALUES and pattern.groups else 0
    for match in pattern.finditer(text):
        start, end = match.span(group)
        if _stands_alone(text, start, end):
            yield Secret(kind, offset + start, offset + end)


_NAMED_VALUES = frozenset({"Bearer Token", "Basic Auth Credentials", "AWS Access Key"})
"""Kinds whose pattern has the name beside the value, such as the user in a URL."""


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Not the middle of a longer word: pictures in base64 hold every short form by chance."""
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    return before not in _LETTER_OR_DIGIT and after not in _LETTER_OR_DIGIT


def _looks_secret(value: str) -> bool:
    """Letters and digits mixed, as a password or key has them and a word, number or path not."""
    return (
        any(char.isdigit() for char in value)
        and any(char.isalpha() for char in value)
        and _NO_VALUE.match(value) is None
    )


_DETECTORS: Final = (
    *("aws:AWSKeyDetector", "azure_storage_key:AzureStorageKeyDetector"),
    *("discord:DiscordBotTokenDetector", "github_token:GitHubTokenDetector"),
    *("gitlab_token:GitLabTokenDetector", "mailchimp:MailchimpDetector"),
    *("pypi_token:PypiTokenDetector", "sendgrid:SendGridDetector", "slack:SlackDetector"),
    *("square_oauth:SquareOAuthDetector", "stripe:StripeDetector"),
    *("telegram_token:TelegramBotTokenDetector", "twilio:TwilioKeyDetector"),
)
"""Plug-ins of detect-secrets. Others find random text, words near it, public addresses, names in
capitals and short serial numbers, or take time that grows with the square of a text's length; of
the last some are in ``_OWN_PATTERNS``."""


@cache
def _library_patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The patterns of detect-secrets, with the kind of secret. Loaded on first use: that takes
    longer than the rest of an ``add``."""
    detectors = [pkgutil.resolve_name(f"detect_secrets.plugins.{name}")() for name in _DETECTORS]
    return tuple(
        (str(detector.secret_type), pattern)
        for detector in detectors
        for pattern in detector.denylist
    )
