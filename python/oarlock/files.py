"""age files as file objects."""

from __future__ import annotations

import builtins
import io
import os
import stat

from ._oarlock import AgeReader, AgeWriter

__all__ = ["open"]

_BUFFER_BYTES = 1 << 20


class _Reader(io.RawIOBase):
    """The plaintext of an age file, readable and seekable."""

    def __init__(self, file, identities, passphrase):
        self._file = file
        self._position = 0
        self._age = AgeReader(file.fileno(), identities, passphrase)

    @property
    def name(self):
        return self._file.name

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        self._checkClosed()
        count = self._age.read_into(self._position, buffer)
        self._position += count
        return count

    def readall(self):
        self._checkClosed()
        data = bytearray(max(self._age.size - self._position, 0))
        self._position += self._age.read_into(self._position, data)
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
            super().close()
            self._file.close()


class _Writer(io.RawIOBase):
    """An age file that is being written. It gets its name when it is complete."""

    def __init__(self, path, mode, recipients, passphrase):
        self._path = path
        self._temporary = None
        if "x" in mode and os.path.lexists(path):
            raise FileExistsError(17, os.strerror(17), path)
        try:
            earlier = os.stat(path)
        except FileNotFoundError:
            earlier = None
        if earlier is not None and not stat.S_ISREG(earlier.st_mode):
            # A pipe or a device is written as it is.
            self._file = builtins.open(path, "wb", buffering=0)
        else:
            self._file = self._open_temporary(earlier)
        try:
            self._age = AgeWriter(self._file.fileno(), recipients, passphrase)
        except BaseException:
            self.discard()
            raise

    @property
    def name(self):
        return self._path

    def _open_temporary(self, earlier):
        import tempfile

        folder, name = os.path.split(os.path.realpath(self._path))
        self._path = os.path.join(folder, name)
        descriptor, self._temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        if earlier is None:
            # There is no other way to ask for it.
            umask = os.umask(0o077)
            os.umask(umask)
            os.fchmod(descriptor, 0o666 & ~umask)
        else:
            os.fchmod(descriptor, stat.S_IMODE(earlier.st_mode))
        return os.fdopen(descriptor, "wb", buffering=0)

    def writable(self):
        return True

    def write(self, data):
        self._checkClosed()
        return self._age.write(data)

    def close(self):
        if self.closed:
            return
        try:
            super().close()
            self._age.finish()
            if self._temporary is not None:
                os.fsync(self._file.fileno())
                os.replace(self._temporary, self._path)
                self._temporary = None
        finally:
            self.discard()

    def discard(self):
        """Close the file without completing it."""
        super().close()
        self._age = None
        self._file.close()
        if self._temporary is not None:
            os.unlink(self._temporary)
            self._temporary = None

    def __del__(self):
        # Nobody said that the data is complete.
        if not self.closed and hasattr(self, "_file"):
            self.discard()


class _BufferedWriter(io.BufferedWriter):
    def __exit__(self, kind, error, trace):
        if kind is None:
            return super().__exit__(kind, error, trace)
        self.raw.discard()
        return None

    def close(self):
        # After `discard` there is nothing to flush to.
        if not self.raw.closed:
            super().close()

    def __del__(self):
        if not self.raw.closed:
            self.raw.discard()


def open(file, mode="rb", *, identity=None, recipients=None, passphrase=None):
    """Open an age file as a binary file object of its plaintext.

    ``mode`` is "rb", "wb" or "xb". For reading, ``identity`` is the path of an identity file or of an SSH key, the text of one
    ("AGE-SECRET-KEY-1..."), or a list of these; the object is seekable. For writing, ``recipients`` is a recipient ("age1...",
    "age1pq1...", "ssh-ed25519 ...") or a list of them. ``passphrase`` takes the place of both.

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
        identities = [_text(one) for one in _each(identity)]
        raw = builtins.open(file, "rb", buffering=0)
        try:
            if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
                raise io.UnsupportedOperation(f"{file!r} is not a regular file: use `oarlock decrypt` for pipes")
            return io.BufferedReader(_Reader(raw, identities, passphrase), _BUFFER_BYTES)
        except BaseException:
            raw.close()
            raise
    if mode in ("wb", "xb", "w", "x"):
        if identity is not None:
            raise ValueError("an identity is for reading: writing needs recipients")
        path = os.fspath(file)
        path = os.fsdecode(path)
        return _BufferedWriter(_Writer(path, mode, list(_each(recipients)), passphrase), _BUFFER_BYTES)
    raise ValueError(f"mode must be 'rb', 'wb' or 'xb', not {mode!r}")


def _each(value):
    if value is None:
        return ()
    return (value,) if isinstance(value, (str, bytes, os.PathLike)) else value


def _text(identity):
    """Returns the text of an identity: the argument, or the file that it names."""
    if isinstance(identity, bytes):
        identity = identity.decode()
    if isinstance(identity, str) and ("AGE-SECRET-KEY-" in identity or "-----BEGIN" in identity):
        return identity
    with builtins.open(identity, encoding="utf-8") as file:
        return file.read()
