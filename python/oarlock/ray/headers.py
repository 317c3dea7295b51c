"""Headers that are replaced where they are: new ones as long as the old ones, in files of a local folder.

A file without a whole header cannot be opened by anybody, and a write may stop in the middle of one. So new
headers are written to a journal first, and the next job on the folder finishes what a journal tells of.

Others may be able to write to the job's own folder and not to the files. So a journal has to be of the job's own user, and can
do no more than replace the header of an age file by another one.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import stat

from .._oarlock import AgeHeader, FileError
from .objects import FOLDER, Changed, Failed, JobError, parts_of

_PREFIX = "headers-"
#: Bytes after the header that tell a file from another one: the payload's nonce and a part of the first chunk.
_FOLLOWING_BYTES = 32
_JOURNAL_BYTES_MAX = 1 << 30
_VERSION_LINE = b"age-encryption.org/v1\n"
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENAMETOOLONG)


def replace(store, items):
    """Replace the headers of files. The caller holds the lock.

    Return for each file its new version, or the exception that it failed with.
    """
    results = [None] * len(items)
    with contextlib.ExitStack() as stack:
        opened, lines = {}, []
        for index, item in enumerate(items):
            try:
                source = stack.enter_context(contextlib.closing(store.source(item.entry, os.O_RDWR)))
            except (OSError, Changed, Failed) as error:
                results[index] = error
                continue
            opened[index] = source
            following = os.pread(source.descriptor, _FOLLOWING_BYTES, item.header_bytes)
            line = {
                "path": item.entry.path,
                "size": item.entry.size,
                "header": _text(item.header),
                "following": _text(following),
            }
            lines.append(json.dumps(line))
        folder = store.own()
        name = f"{_PREFIX}{os.urandom(8).hex()}"
        _write(folder, name, "\n".join([*lines, ""]).encode())
        for index, source in list(opened.items()):
            try:
                # Once more: the journal took its time.
                source.check()
            except (OSError, Changed, Failed) as error:
                results[index] = error
                del opened[index]
                continue
            descriptor, header = source.descriptor, items[index].header
            if os.pwrite(descriptor, header, 0) != len(header):
                raise OSError(errno.EIO, f"{items[index].entry.path}: not all of it was written")
        if not store.sync(list(opened)):
            for source in opened.values():
                os.fsync(source.descriptor)
        for index, source in opened.items():
            results[index] = store.entry(items[index].entry.path, os.fstat(source.descriptor))
        os.unlink(name, dir_fd=folder)
    return results


def finish(store):
    """Finish what the journals of an earlier job tell of. The caller holds the lock."""
    folder = store.own()
    names = [name for name in os.listdir(folder) if name.startswith(_PREFIX)]
    user = _user_here(folder) if names else None
    for name in names:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if status.st_uid != user or status.st_mode & 0o022:
                raise JobError(
                    f"{store.url}/{FOLDER}/{name} tells of headers that a job was replacing, and another user may have written "
                    f"it (user {status.st_uid}, mode {status.st_mode & 0o777:o}): have its user repeat the rotation, or remove "
                    "it if there was none"
                )
            lines = file.read(_JOURNAL_BYTES_MAX).split(b"\n") if stat.S_ISREG(status.st_mode) else []
        for line in lines:
            # A line that was cut short: the job had not come to the files.
            try:
                _repeat(store, json.loads(line))
            except OSError as error:
                # Gone, or another kind of file now. Anything else may pass, so the journal stays.
                if error.errno not in _GONE:
                    raise JobError(f"a header in {store.url} is to be finished, which failed: {error.strerror}") from None
            except (ValueError, KeyError, TypeError, RecursionError, Failed, FileError):
                pass
        os.unlink(name, dir_fd=folder)


def _repeat(store, line):
    """Write a header once more, if the file is still the one that it was for."""
    header, following = base64.b64decode(line["header"]), base64.b64decode(line["following"])
    parsed = AgeHeader.parse(header)
    if not isinstance(line["path"], str) or parsed is None or parsed.size != len(header):
        return
    *folders, name = parts_of(line["path"])
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=store.folder(folders))
    try:
        status = os.fstat(descriptor)
        is_same = stat.S_ISREG(status.st_mode) and status.st_size == line["size"] and len(following) >= 16
        # Both headers begin with it, so that half of a write leaves it.
        is_age = os.pread(descriptor, len(_VERSION_LINE), 0) == _VERSION_LINE
        if is_same and is_age and os.pread(descriptor, len(following), len(header)) == following:
            if os.pwrite(descriptor, header, 0) != len(header):
                raise OSError(errno.EIO, "not all of it was written")
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _user_here(folder):
    """Return the owner that a new file gets. A file system of a network may show another one than the process has."""
    name = f"tmp-{os.urandom(8).hex()}"
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        return os.fstat(descriptor).st_uid
    finally:
        os.close(descriptor)
        os.unlink(name, dir_fd=folder)


def _write(folder, name, data):
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
    os.fsync(folder)


def _text(data):
    return base64.b64encode(data).decode()
