"""What all parts of a job know of objects: their names, versions and failures."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

#: The folder of a job's lock, manifests and temporary files, in the destination.
FOLDER = ".oarlock-fleet"
#: The suffix of encrypted objects.
SUFFIX = ".age"

CHUNK_BYTES = 64 << 10
TAG_BYTES = 16
SEALED_BYTES = CHUNK_BYTES + TAG_BYTES
NONCE_BYTES = 16
#: A longer object is cut into ranges of this length, which different workers process. It is also the length of a part of an
#: S3 upload, which takes 10,000 parts: 640 GB.
RANGE_CHUNKS = 1024
RANGE_BYTES = RANGE_CHUNKS * CHUNK_BYTES

VANISHED = "it is no longer there"
REPLACED = "it was replaced by another program"
APPEARED = "another program has made an object of this name"


class Entry(NamedTuple):
    """A version of an object."""

    #: Relative to the root of its store, with "/" between folders. Bytes that are not UTF-8 are lone surrogates (PEP 383).
    path: str
    size: int
    #: Differs from that of another version: S3's ETag, or a file's time of modification.
    etag: str
    #: Permissions of a file.
    mode: int | None = None
    #: Tells this version from others of the same size and ``etag``, within a job: a copy of a file has another stamp. What is
    #: not known is 0 or empty.
    stamp: tuple = ()
    #: Whether any later change shows. Writes to a file's mapped pages may leave all its times as they are.
    is_settled: bool = True
    #: What the upload that wrote it has left on it, in stores that keep such a mark.
    mark: str = ""

    def is_same(self, other):
        """Whether both are one version of an object."""
        is_alike = (self.size, self.etag) == (other.size, other.etag)
        return is_alike and all(one == two or not one or not two for one, two in zip(self.stamp, other.stamp))


class Replaced(NamedTuple):
    """What an upload may take the place of. Without one, its name has to be free."""

    #: The only version. None is whatever there is.
    version: Entry | None
    #: Whether the object is rotated in place, so that the version is what was read.
    is_source: bool = False


ANYTHING = Replaced(None)


class Unlisted(NamedTuple):
    """A folder whose objects are not known."""

    path: str
    reason: str


class Skipped(NamedTuple):
    """Something that was found and is no object."""

    path: str
    reason: str


class Failed(Exception):
    """An object that could not be processed. It is not tried again."""


class Foreign(Failed):
    """The destination has an object of another program."""


class Changed(Exception):
    """An object is no longer the version that was listed. It is tried again with what it is now."""


class JobError(Exception):
    """A job cannot begin or go on."""


def parts_of(path):
    """Return the names of folders and file in a path of an object.

    Raises Failed if a file cannot have the name, or the path would lead elsewhere.
    """
    names = path.split("/")
    for name in names:
        if name in ("", ".", ".."):
            raise Failed(f"a file cannot have this name: {name!r} is not the name of a file or folder")
    if "\0" in path:
        raise Failed("a file cannot have this name: it has a zero byte")
    if names[0] == FOLDER:
        raise Failed(f"{FOLDER} is the job's own folder")
    return names


def output_of(command, path):
    """Return the path in the destination of what a command makes of a path, or None if it makes nothing of it."""
    if command == "encrypt":
        return path + SUFFIX
    if command == "rotate":
        return path
    return path[: -len(SUFFIX)] if command == "decrypt" and path.endswith(SUFFIX) else None


def mark_of(job, path):
    """Return how the marks of a job begin on an object. A copy under another name has another object's."""
    return f"{job}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def shown(path):
    """Return a path for a terminal: without control characters and broken UTF-8."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def sealed_bytes(plain):
    """Return the length of the chunks of a plaintext."""
    return plain + TAG_BYTES * max(1, -(-plain // CHUNK_BYTES))


def plain_bytes(sealed):
    """Return the length of the plaintext in chunks of a length. Raises Failed if none has it."""
    chunks = -(-sealed // SEALED_BYTES)
    plain = sealed - TAG_BYTES * chunks
    if chunks == 0 or (plain - (chunks - 1) * CHUNK_BYTES <= 0 and not (chunks == 1 and plain == 0)):
        raise Failed("truncated: an age file cannot have this length")
    return plain
