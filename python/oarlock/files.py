"""age files as file objects."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import stat
from typing import TYPE_CHECKING, Literal, Union, overload

from ._oarlock import AgeReader, AgeWriter, FileError, RemoteIdentity, is_secret
from ._rights import Rights

if TYPE_CHECKING:
    from collections.abc import Iterable

    _Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
    _Identities = Union[_Path, RemoteIdentity, Iterable[Union[_Path, RemoteIdentity]], None]

__all__ = ["open"]

# Of a reader: pieces that are longer go to the caller's buffer without a copy.
_READ_BYTES = 256 << 10
_WRITTEN_BYTES = 1 << 20
# The most that a call of native code reads: some 50 ms.
_PIECE_BYTES = 64 << 20
_RECIPIENTS = ("age1", "ssh-ed25519 ", "ssh-rsa ")


class _Reader(io.RawIOBase):
    """The plaintext of an age file, readable and seekable."""

    def __init__(self, file, identities, passphrase):
        self._file = file
        self._position = 0
        with self._named():
            self._age = AgeReader(file.fileno(), identities, passphrase)

    @property
    def name(self):
        return self._file.name

    @contextlib.contextmanager
    def _named(self):
        """Has an error say which file it is of."""
        try:
            yield
        except FileError as error:
            name = self.name if isinstance(self.name, int) else os.fsdecode(self.name)
            raise FileError(f"{name}: {error}") from None

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        self._checkClosed()
        with self._named(), memoryview(buffer) as view:
            if view.nbytes > _PIECE_BYTES:
                # The caller asks for the rest, and Python looks at signals before.
                with view.cast("B") as whole, whole[:_PIECE_BYTES] as piece:
                    count = self._age.read_into(self._position, piece)
            else:
                count = self._age.read_into(self._position, buffer)
        self._position += count
        return count

    def readall(self):
        self._checkClosed()
        data = bytearray(max(self._age.size - self._position, 0))
        start = self._position
        with self._named(), memoryview(data) as view:
            while (done := self._position - start) < len(data):
                with view[done : done + _PIECE_BYTES] as piece:
                    self._position += self._age.read_into(self._position, piece)
        return bytes(data)

    def seek(self, offset, whence=os.SEEK_SET):
        self._checkClosed()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._age.size}.get(whence)
        if start is None:
            raise ValueError(f"whence must be 0, 1 or 2, not {whence}")
        if start + offset < 0:
            raise ValueError(f"position {start + offset} is before the start of the file")
        self._position = start + offset
        return self._position

    def tell(self):
        self._checkClosed()
        return self._position

    def close(self):
        if not self.closed:
            try:
                super().close()
            finally:
                # With it go the key and what was decrypted.
                self._age = None
                self._file.close()

    def __reduce_ex__(self, protocol):
        raise TypeError("an age file holds a key and cannot be pickled or copied")


class _Writer(io.RawIOBase):
    """An age file that is being written. It gets its name when it is complete."""

    def __init__(self, path, mode, recipients, passphrase, armor):
        self._is_new = "x" in mode
        self._temporary = self._file = self._age = None
        folder, name = os.path.split(os.path.realpath(path))
        if not path or path.endswith(os.sep):
            number = errno.EISDIR if path else errno.ENOENT
            raise OSError(number, os.strerror(number), path)
        self._path = os.path.join(folder, name)
        try:
            earlier = os.stat(path)
        except FileNotFoundError:
            earlier = None
        if self._is_new and (earlier is not None or os.path.lexists(path)):
            raise FileExistsError(17, os.strerror(17), path)
        try:
            if earlier is not None and not stat.S_ISREG(earlier.st_mode):
                # A pipe or a device is written as it is.
                self._file = builtins.open(path, "wb", buffering=0)
            else:
                self._open_temporary(folder)
            self._age = AgeWriter(self._file.fileno(), recipients, passphrase, armor)
        except BaseException:
            self.discard()
            raise
        # The native method itself: in a method of Python's, the exception of a signal could hide that the data was taken.
        self.write = self._age.write

    @property
    def name(self):
        return self._path

    def _open_temporary(self, folder):
        self._rights = Rights.at(self._path)
        temporary = os.path.join(folder, f".oarlock-{os.urandom(8).hex()}")
        mode = 0o666 if self._rights is None else 0o600
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None
        self._temporary = temporary
        self._file = os.fdopen(descriptor, "wb", buffering=0)

    def writable(self):
        return True

    def tell(self):
        self._checkClosed()
        return self._age.written

    def close(self):
        if self.closed:
            return
        try:
            super().close()
            self._age.finish()
            if self._temporary is not None:
                # They may have been narrowed since.
                rights = None if self._is_new else Rights.at(self._path) or self._rights
                if rights is not None:
                    rights.grant(self._file.fileno())
                os.fsync(self._file.fileno())
                if self._is_new:
                    # Unlike a rename, it fails if another program has made the file since.
                    os.link(self._temporary, self._path)
                else:
                    os.replace(self._temporary, self._path)
                    self._temporary = None
        finally:
            self.discard()

    def discard(self):
        """Close the file without completing it. In a forked process the file stays as it is."""
        super().close()
        if self._age is not None:
            self._age.discard()
        if self._file is not None:
            self._file.close()
        if self._temporary is not None:
            if self._age is None or self._age.is_here:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._temporary)
            self._temporary = None

    def __del__(self):
        # Nobody said that the data is complete.
        if not self.closed and hasattr(self, "_age"):
            self.discard()

    def __reduce_ex__(self, protocol):
        raise TypeError("an age file holds a key and cannot be pickled or copied")


class _BufferedWriter(io.BufferedWriter):
    def __exit__(self, kind, error, trace):
        if kind is None:
            return super().__exit__(kind, error, trace)
        self.raw.discard()
        return None

    def close(self):
        # After `discard` there is nothing to flush to.
        if self.raw.closed:
            return
        try:
            self.flush()
        except BaseException:
            # C's `close` would complete the file without the rest.
            self.raw.discard()
            raise
        super().close()

    def __del__(self):
        with contextlib.suppress(ValueError, AttributeError):
            if not self.raw.closed:
                self.raw.discard()


@overload
def open(
    file: _Path, mode: Literal["rb", "r"] = "rb", *, identity: _Identities = None, passphrase: str | None = None
) -> io.BufferedReader: ...


@overload
def open(
    file: _Path,
    mode: Literal["wb", "xb", "w", "x"],
    *,
    recipients: str | Iterable[str] | None = None,
    passphrase: str | None = None,
    armor: bool = False,
) -> io.BufferedWriter: ...


def open(file, mode="rb", *, identity=None, recipients=None, passphrase=None, armor=False):
    """Open an age file as a binary file object of its plaintext.

    ``mode`` is "rb", "wb" or "xb". For reading, ``identity`` is the path of an identity file or of an SSH key, the text of one
    ("AGE-SECRET-KEY-1..."), one of a cryptoserver (``Cryptoserver.identity``), or a list of these; the object is seekable. For
    writing, ``recipients`` is a recipient ("age1...", "age1pq1...", "ssh-ed25519 ...") or a list of them, and ``armor`` makes
    the file text. ``passphrase`` takes the place of both keys.

    A written file gets its name when it is closed. If a ``with`` block ends with an exception, or the object is never closed,
    nothing remains of it.

    >>> import oarlock, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     with oarlock.open(file.name, "wb", passphrase="correct horse") as output:
    ...         _ = output.write(b"battery staple")
    ...     with oarlock.open(file.name, passphrase="correct horse") as data:
    ...         data.seek(8), data.read()
    (8, b'staple')

    Raises FileError if the file is not an age file, was truncated or altered, or no identity opens it; OSError if the system
    cannot read or write it; ValueError for invalid keys.
    """
    if mode in ("rb", "r"):
        if recipients is not None:
            raise ValueError("recipients are for writing: reading needs an identity")
        if armor:
            raise ValueError("armor is for writing: a reader sees whether a file is text")
        identities = [_text(one) for one in _each(identity)]
        if not identities and passphrase is None:
            raise ValueError("reading needs an identity or a passphrase")
        raw = builtins.open(file, "rb", buffering=0)
        try:
            if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
                raise io.UnsupportedOperation(f"{file!r} is not a regular file: use `oarlock decrypt` for pipes")
            return io.BufferedReader(_Reader(raw, identities, passphrase), _READ_BYTES)
        except BaseException:
            raw.close()
            raise
    if mode in ("wb", "xb", "w", "x"):
        if identity is not None:
            raise ValueError("an identity is for reading: writing needs recipients")
        if passphrase == "":
            raise ValueError("passphrase is empty")
        path = os.fsdecode(file)
        return _BufferedWriter(_Writer(path, mode, list(_each(recipients)), passphrase, armor), _WRITTEN_BYTES)
    raise ValueError(f"mode must be 'rb', 'wb' or 'xb', not {mode!r}")


def _each(value):
    if value is None:
        return ()
    return (value,) if isinstance(value, (str, bytes, os.PathLike, RemoteIdentity)) else value


def _text(identity):
    """Returns the text of an identity: the argument, or the file that it names. One of a cryptoserver stays as it is."""
    if isinstance(identity, RemoteIdentity):
        return identity
    # A path may have bytes that are not UTF-8.
    if isinstance(identity, bytes) and is_secret(identity.decode(errors="replace")):
        return _decoded(identity, "an identity")
    if isinstance(identity, str) and identity.startswith(_RECIPIENTS):
        raise ValueError("identity is a recipient, which only encrypts: give the file of its identity, AGE-SECRET-KEY-1...")
    if isinstance(identity, str) and is_secret(identity.encode(errors="replace").decode()):
        return identity
    with builtins.open(identity, "rb") as file:
        return _decoded(file.read(), f"the identity file {identity!r}").replace("\r\n", "\n")


def _decoded(data, what):
    """Returns the text of bytes. Python's own error would hold them, and they are secret."""
    with contextlib.suppress(UnicodeDecodeError):
        return data.decode()
    raise ValueError(f"{what} is not UTF-8")
