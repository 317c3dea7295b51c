"""A worker: an actor that processes objects, and ranges of long ones.

It never has an identity of the user's. It generates one of its own, which stays in its memory, and the driver wraps the file
keys of objects for that one.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import random
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from .._oarlock import AgeHeader, AgeIdentities, AgeKey, FileError, __version__
from .lines import line_of, output, source_name
from .objects import (
    CHUNK_BYTES,
    NONCE_BYTES,
    RANGE_CHUNKS,
    SEALED_BYTES,
    TAG_BYTES,
    Changed,
    Entry,
    Failed,
    JobError,
    Replaced,
    plain_bytes,
    sealed_bytes,
)
from .stores import parallel, store

_ATTEMPTS = 3
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_HOPELESS = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY, errno.ELOOP)


class Settings(NamedTuple):
    """What a worker needs to know of its job. It lies in Ray's object store and holds no secret."""

    command: str
    source: str
    target: str
    endpoint: str | None
    recipients: tuple[str, ...]
    digest: bool
    lock: str | None
    range_chunks: int
    #: The job's own name, the driver's umask, and requests whose conditions the destination does not check.
    job: str = ""
    umask: int | None = None
    unconditional: tuple[tuple[str, str], ...] = ()


class Sealed(NamedTuple):
    """How a worker opens an object: the file key, wrapped for the worker, and where the chunks are."""

    header: bytes
    nonce: bytes
    start: int


class Item(NamedTuple):
    """An object to process, with what the command needs."""

    entry: Entry
    #: The name of the output.
    path: str
    #: To open it.
    sealed: Sealed | None = None
    #: Of rotation: the new header, and the length of the old one.
    header: bytes | None = None
    header_bytes: int = 0
    #: Of verification: the encrypted object.
    output: Entry | None = None
    #: What the output may take the place of.
    replaced: Replaced | None = None


class Done(NamedTuple):
    entry: Entry
    output: Entry
    sha256: str | None


class Fault(NamedTuple):
    """Why an object was not processed.

    ``kind`` is "failed" for good, "again" or "changed" to try it once more, or "stop" to end the job. "unreachable" is the one
    and, if it stays so, the other: without the server of the identity all objects would fail.
    """

    entry: Entry
    reason: str
    kind: str


class Worker:
    def __init__(self, version, packed):
        """Take the driver's version of the package, and pickled settings, which another version may not understand."""
        self._identity = AgeIdentities.generate()
        self._fault = None
        if version != __version__:
            self._fault = (
                f"{socket.gethostname()} has version {__version__} of oarlock, and the driver {version}: "
                "install the same one on all machines"
            )
            return
        settings = self._settings = pickle.loads(packed)
        self._source = store(settings.source, settings.endpoint)
        self._target = store(settings.target, settings.endpoint)
        self._target.job, self._target.umask = settings.job, settings.umask
        self._target.unconditional = settings.unconditional
        self._source_name = source_name(self._source)
        self._is_in_place = self._source.contains(self._target) and self._target.contains(self._source)
        count = parallel(self._source, self._target)
        self._threads = ThreadPoolExecutor(count) if count > 1 else None
        self._range_chunks = settings.range_chunks
        self._range_bytes = settings.range_chunks * CHUNK_BYTES

    def begin(self):
        """Return the recipient of this worker, its process, and what is wrong with its machine.

        Drivers of other versions call this too.
        """
        return self._identity.recipient, os.getpid(), self._fault or self._wrong()

    def _wrong(self):
        lock = self._settings.lock
        fault = None
        if lock is not None and self._target.lock_text() != lock:
            fault = f"{socket.gethostname()} has another {self._target.url} than the driver: mount the same one on all machines"
        for one in (self._source, self._target):
            outdated = one.outdated() if hasattr(one, "outdated") else None
            if outdated is not None:
                fault = f"{socket.gethostname()}: {outdated}"
        return fault

    def objects(self, items, journal=None):
        """Process whole objects. Return Done or Fault for each."""
        work = getattr(self, f"_{self._settings.command}")
        commits = not self._target.announces
        results = list(self._map(lambda item: self._guarded(item, work, commits), items))
        return results if commits else self._commit_together(items, results, journal or os.urandom(8).hex())

    def _map(self, function, *items):
        return map(function, *items) if self._threads is None else self._threads.map(function, *items)

    def range(self, item, upload, number, prologue):
        """Process a range of an object into a part of an upload. Return the part or Fault."""

        def work(item, _):
            payload = self._payload(item.sealed)
            if self._settings.command == "encrypt":
                begin = number * self._range_bytes
                end = min(begin + self._range_bytes, item.entry.size)
                offset = len(prologue) + sealed_bytes(begin) if begin else 0
                with self._source.open(item.entry) as source:
                    sink = self._target.part(upload, number + 1, offset)
                    try:
                        if number == 0:
                            sink.write([prologue])
                        self._seal(source, sink, payload, begin, end)
                        return sink.finish(is_range=True)
                    finally:
                        sink.close()
            with self._source.open(item.entry) as source:
                sink = self._target.part(upload, number + 1, number * self._range_bytes)
                try:
                    self._open(source, sink, payload, item.sealed.start, number * self._range_chunks, self._range_chunks)
                    return sink.finish(is_range=True)
                finally:
                    sink.close()

        attempts = _ATTEMPTS if is_repeatable(self._settings.command, item.entry) else 1
        return self._guarded(item, work, False, attempts)

    def _guarded(self, item, work, commits, attempts=_ATTEMPTS):
        """Process an object. What fails for a reason that may pass is tried again after a while."""
        for attempt in range(attempts):
            try:
                return work(item, commits)
            except (Failed, FileError, ValueError) as error:
                return Fault(item.entry, str(error), "failed")
            except Changed as error:
                # The driver lists it once more.
                return Fault(item.entry, str(error), "changed")
            except JobError as error:
                return Fault(item.entry, str(error), "stop")
            except OSError as error:
                fault = error
                if error.errno in _FULL:
                    return Fault(item.entry, f"the destination: {error.strerror}", "stop")
                if error.errno in _HOPELESS:
                    return Fault(item.entry, error.strerror, "failed")
            except Exception as error:
                fault = error
            if attempt + 1 < attempts:
                time.sleep(0.1 * 2**attempt * (0.5 + random.random()))
        return Fault(item.entry, f"{type(fault).__name__}: {fault}", "again")

    def _commit_together(self, items, results, journal):
        """Give objects their names, after a journal that tells of them and one flush of the disk."""

        def each(work):
            """Go on with the objects that have not failed."""

            def step(item, result):
                if not isinstance(result, _Begun):
                    return result
                after = self._guarded(item, lambda *_: work(result), False)
                if isinstance(after, Fault):
                    self._target.abort(result.upload)
                return after

            results[:] = self._map(step, items, results)
            return [result for result in results if isinstance(result, _Begun)]

        begun = each(lambda one: one._replace(version=self._target.finish(one.upload, one.mode)))
        if not begun:
            return results
        lines = "".join(self._line(one) for one in begun).encode()
        announced = self._guarded(items[0], lambda *_: self._target.announce(journal, lines, len(begun)), False, 1)
        if isinstance(announced, Fault):
            for index, result in enumerate(results):
                if isinstance(result, _Begun):
                    self._target.abort(result.upload)
                    results[index] = announced._replace(entry=result.entry)
            return results
        try:
            is_synced = self._target.sync([one.upload for one in begun])
        except OSError:
            is_synced = False
        each(lambda one: self._commit(one, is_synced))
        return results

    def _line(self, begun):
        line = line_of(self._settings.command, self._source_name, begun.entry, "written", output=output(begun.version))
        return json.dumps(line) + "\n"

    def _commit(self, begun, is_synced=False):
        output = self._target.commit(begun.upload, begun.parts, begun.mode, is_synced)
        return Done(begun.entry, output, begun.sha256)

    def _output(self, item, size, parts, write, commits):
        """Write an object of a length in parts, by ``write(upload)``, which returns them and a digest."""
        replaced = Replaced(item.entry, is_source=True) if self._is_in_place else item.replaced
        upload = self._target.begin(item.path, size, parts, replaced)
        try:
            written, sha256 = write(upload)
            begun = _Begun(item.entry, upload, written, item.entry.mode, sha256)
            return self._commit(begun) if commits else begun
        except BaseException:
            self._target.abort(upload)
            raise

    # The commands.

    def _encrypt(self, item, commits):
        entry, key = item.entry, AgeKey()
        nonce = os.urandom(NONCE_BYTES)
        prologue = key.wrap(list(self._settings.recipients)) + nonce
        payload = key.payload(nonce)
        starts = range(0, max(entry.size, 1), self._range_bytes)
        digest = hashlib.sha256() if self._settings.digest else None

        def write(upload):
            parts = []
            with self._source.open(entry) as source:
                for number, begin in enumerate(starts):
                    offset = len(prologue) + sealed_bytes(begin) if begin else 0
                    sink = self._target.part(upload, number + 1, offset)
                    try:
                        if number == 0:
                            sink.write([prologue])
                        self._seal(source, sink, payload, begin, min(begin + self._range_bytes, entry.size), digest)
                        parts += sink.finish() or ()
                    finally:
                        sink.close()
            return parts, digest and digest.hexdigest()

        return self._output(item, len(prologue) + sealed_bytes(entry.size), len(starts), write, commits)

    def _decrypt(self, item, commits):
        entry, sealed = item.entry, item.sealed
        payload = self._payload(sealed)
        size = plain_bytes(entry.size - sealed.start)
        starts = range(0, max(size, 1), self._range_bytes)
        digest = hashlib.sha256() if self._settings.digest else None

        def write(upload):
            parts = []
            with self._source.open(entry) as source:
                for number, begin in enumerate(starts):
                    sink = self._target.part(upload, number + 1, begin)
                    try:
                        self._open(source, sink, payload, sealed.start, number * self._range_chunks, self._range_chunks, digest)
                        parts += sink.finish() or ()
                    finally:
                        sink.close()
            return parts, digest and digest.hexdigest()

        return self._output(item, size, len(starts), write, commits)

    def _rotate(self, item, commits):
        entry = item.entry

        def write(upload):
            with self._source.open(entry) as source:
                sink = self._target.part(upload, 1, 0)
                try:
                    sink.write([item.header])
                    position = self._target.copy_rest(self._source, source, item.header_bytes, sink)
                    buffer = memoryview(bytearray(min(source.piece_chunks * CHUNK_BYTES, entry.size - position)))
                    while position < entry.size:
                        views = [buffer[: entry.size - position]]
                        source.read(views, position)
                        sink.write(views)
                        position += len(views[0])
                    return sink.finish() or (), None
                finally:
                    sink.close()

        return self._output(item, len(item.header) + entry.size - item.header_bytes, None, write, commits)

    def _verify(self, item, commits):
        sealed, output = item.sealed, item.output
        size = plain_bytes(output.size - sealed.start)
        if size != item.entry.size:
            raise Failed(f"it has {size} bytes of plaintext, and its source has {item.entry.size}")
        payload = self._payload(sealed)
        digest = _Comparison()
        with self._source.open(item.entry) as source, self._target.open(output) as opened:
            digest.source = source
            for first in range(0, -(-max(size, 1) // CHUNK_BYTES), RANGE_CHUNKS):
                self._open(opened, digest, payload, sealed.start, first, RANGE_CHUNKS)
        return Done(item.entry, output, digest.hexdigest())

    # Chunks.

    def _payload(self, sealed):
        return self._identity.unwrap(AgeHeader.parse(sealed.header)).payload(sealed.nonce)

    def _seal(self, source, sink, payload, begin, end, digest=None):
        """Seal the plaintext between two positions.

        A range is sealed by the object's key at each attempt, and another plaintext must not meet the nonces of the first
        one. So the source is checked to be the version of the entry before each piece of it is sealed.
        """
        size, buffer = source.entry.size, None
        while True:
            plain = min(source.piece_chunks * CHUNK_BYTES, end - begin)
            length = sealed_bytes(plain)
            buffer = memoryview(bytearray(length)) if buffer is None else buffer[:length]
            views = _chunks(buffer)
            source.read(views, begin)
            source.check()
            if digest is not None:
                for view in views:
                    digest.update(view)
            payload.seal(begin // CHUNK_BYTES, begin + plain == size, buffer)
            sink.write([buffer])
            begin += plain
            if begin >= end:
                return

    def _open(self, source, sink, payload, start, first, count, digest=None):
        """Open some chunks from a number on."""
        position = start + first * SEALED_BYTES
        end = min(position + count * SEALED_BYTES, source.entry.size)
        buffer = None
        while position < end:
            length = min(source.piece_chunks * SEALED_BYTES, end - position)
            buffer = memoryview(bytearray(length)) if buffer is None else buffer[:length]
            source.read([buffer], position)
            payload.open((position - start) // SEALED_BYTES, position + length == source.entry.size, buffer)
            views = _chunks(buffer)
            if digest is not None:
                for view in views:
                    digest.update(view)
            sink.write(views)
            position += length


def is_repeatable(command, entry):
    """Whether a range of an object may be tried again with the object's key.

    If a change of the source might not show, its other content would be sealed under the same nonces.
    """
    return command != "encrypt" or entry.is_settled


class _Begun(NamedTuple):
    """An object that is written and has no name yet."""

    entry: Entry
    upload: tuple
    parts: list
    mode: int | None
    sha256: str | None
    #: What it is going to be, if the store knows.
    version: Entry | None = None


class _Comparison:
    """A sink that compares what it gets with another object."""

    def __init__(self):
        self.source = None
        self._position = 0
        self._digest = hashlib.sha256()

    def write(self, views):
        length = sum(len(view) for view in views)
        expected = bytearray(length)
        self.source.read([memoryview(expected)], self._position)
        if expected != b"".join(views):
            raise Failed("its plaintext differs from the source")
        self._digest.update(expected)
        self._position += length

    def hexdigest(self):
        return self._digest.hexdigest()


def _chunks(buffer):
    """Return the plaintext of each chunk in a buffer."""
    return [buffer[at : min(at + SEALED_BYTES, len(buffer)) - TAG_BYTES] for at in range(0, len(buffer), SEALED_BYTES)]
