"""Documents that are zip archives, and the limits on their content."""

from __future__ import annotations

import io
import zipfile

from treering.ingest.documents.formats import Limits, Unreadable

_MAX_MEMBERS = 50_000
_OLE_MAGIC = b"\xd0\xcf\x11\xe0"  # the container of encrypted documents, and of those before 2007


def check(content: bytes, limits: Limits) -> zipfile.ZipFile:
    """Return the archive. Raise Unreadable if it is broken, encrypted, or unpacks to too much.

    A member may hold more than it says: the library stops at the size that it says, and the
    process has a limit on memory.
    """
    if content.startswith(_OLE_MAGIC):
        raise Unreadable(
            "is encrypted, or of a format before 2007: save a plain copy, and add that"
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable("is broken, or not what its name says") from error
    if any(member.flag_bits & 1 for member in members):
        raise Unreadable("is encrypted: save a copy without a password, and add that")
    unpacked = sum(member.file_size for member in members)
    if unpacked > limits.unpacked or len(members) > _MAX_MEMBERS:
        raise Unreadable(
            f"unpacks to {unpacked >> 20:,} MiB in {len(members):,} files, "
            f"over the limit of {limits.unpacked >> 20:,} MiB in {_MAX_MEMBERS:,}"
        )
    return archive


def member(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a member. Raise Unreadable if it is missing or broken."""
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, EOFError, OSError, ValueError) as error:
        raise Unreadable(f"is broken: {name!r} in it cannot be read") from error
