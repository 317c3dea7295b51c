"""Folders of other stores, by the file systems of fsspec: SFTP and what its plugins have.

Such a store has neither conditional writes nor uploads of parts: an object is written as a temporary file by one worker, and
renamed. Versions of objects are told apart by what the store tells of them, for SFTP the length and the second of the
modification.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from typing import Any

from .objects import FOLDER, VANISHED, Changed, Entry, Failed, JobError, Skipped, Unlisted, parts_of

#: What may tell versions apart, the best first.
_VERSIONS = ("ETag", "etag", "md5Hash", "md5", "checksum", "mtime", "last_modified", "LastModified", "modified", "updated")
_PIECE_BYTES = 8 << 20


def _repeated(method):
    """Have a method try once more, by another connection, if it has lost its own."""

    @functools.wraps(method)
    def repeated(self, *arguments):
        fs = self._fs
        try:
            return method(self, *arguments)
        except Exception:
            if _is_connected(fs):
                raise
        return method(self, *arguments)

    return repeated


class PluginStore:
    parallel = 1
    #: One worker writes the whole of an object.
    has_ranges = False

    def __init__(self, url):
        from fsspec.core import split_protocol

        self._scheme = split_protocol(url)[0]
        if self._scheme == "memory":
            raise JobError("memory:// is another one in each process: workers would not find it")
        self.url = url.rstrip("/")
        self._class = _class_of(self._scheme)
        self._options = self._class._get_kwargs_from_urls(url)
        if self._options.get("password"):
            raise JobError(f"a password in a URL of {self._scheme}:// would be in logs and lists of processes: use a key")
        self.root = self._class._strip_protocol(url).rstrip("/")
        self._held = threading.local()
        self._writing = {}
        self._pieces_written = 0
        self._lock_text = None
        self._folders = set()

    @property
    def _fs(self):
        """The file system, by a connection of this thread's own."""
        fs = getattr(self._held, "fs", None)
        if fs is None or not _is_connected(fs):
            fs = self._class(**self._options, skip_instance_cache=True)
            # What is listed has to be what is there. As an argument, SFTP's client would get it.
            fs.dircache.use_listings_cache = False
            self._held.fs = fs
        return fs

    def _path(self, path):
        parts_of(path)
        try:
            path.encode()
        except UnicodeEncodeError:
            raise Failed(f"an object of {self._scheme}:// cannot have this name: it is not UTF-8") from None
        return f"{self.root}/{path}"

    def _own(self, name):
        return f"{self.root}/{FOLDER}/{name}"

    @_repeated
    def exists(self):
        return self._fs.isdir(self.root)

    def create(self):
        self._make_folder(f"{self.root}/{FOLDER}")

    def _make_folder(self, folder):
        if folder in self._folders:
            return
        try:
            self._fs.makedirs(folder, exist_ok=True)
        except OSError:
            # Another worker makes it too.
            if not self._fs.isdir(folder):
                raise
        self._folders.add(folder)

    def contains(self, other):
        is_here = isinstance(other, PluginStore) and (other._class, other._options) == (self._class, self._options)
        return is_here and f"{other.root}/".startswith(f"{self.root}/")

    def folds_case(self):
        """Whether names that differ in case only are one. It is not known before the job's own folder is there."""
        try:
            names = {entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in self._fs.ls(self.root, detail=True)}
            return FOLDER in names and FOLDER.upper() not in names and self._fs.exists(f"{self.root}/{FOLDER.upper()}")
        except OSError:
            return False

    def is_empty(self):
        return not self.exists() or next((False for _ in self.list()), True)

    def list(self):
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                found = self._fs.ls(f"{self.root}/{folder}" if folder else self.root, detail=True)
            except (OSError, ValueError) as error:
                if folder == "":
                    raise JobError(f"cannot list {self.url}: {error}") from None
                yield Unlisted(folder, f"the folder cannot be listed: {error}")
                continue
            for info in found:
                name = info["name"].rstrip("/").rsplit("/", 1)[-1]
                path = f"{folder}/{name}" if folder else name
                if path == FOLDER:
                    continue
                if info["type"] == "directory":
                    folders.append(path)
                elif info["type"] == "file":
                    yield self._entry(path, info)
                else:
                    yield Skipped(path, "a symbolic link, which is not followed")

    def _entry(self, path, info):
        version = next((str(info[name]) for name in _VERSIONS if info.get(name)), "")
        return Entry(path, info["size"], version, is_settled=False)

    @_repeated
    def stat(self, path):
        try:
            info = self._fs.info(self._path(path))
        except (FileNotFoundError, NotADirectoryError):
            return None
        return self._entry(path, info) if info["type"] == "file" else Entry(path, -1, "")

    def pinned(self, entry):
        return entry

    @contextlib.contextmanager
    def open(self, entry):
        source = _Source(self, entry)
        try:
            yield source
            source.check()
        finally:
            source.close()

    # Writing.

    def begin(self, path, size, parts, replaced=None):
        self._path(path)
        return (path, size, f"tmp-{os.urandom(8).hex()}", replaced)

    def part(self, upload, number, offset):
        name = upload[2]
        if name not in self._writing:
            file = self._writing[name] = self._fs.open(self._own(name), "wb")
            if hasattr(file, "set_pipelined"):
                # Of SFTP: the answers to writes are not waited for one by one.
                file.set_pipelined(True)
        return _Sink(self._writing[name])

    def commit(self, upload, parts, mode=None, is_synced=False):
        path, size, name, replaced = upload
        self._writing.pop(name).close()
        written, place = self._own(name), self._path(path)
        length = self._fs.info(written)["size"]
        if length != size:
            raise OSError(f"{length} bytes were written, not {size}")
        self._make_folder(place.rsplit("/", 1)[0])
        if replaced is not None:
            now = self.stat(path)
            if now is None:
                raise Failed(VANISHED)
            if now.etag != replaced.etag:
                raise Changed("it was replaced by another program")
        self._fs.mv(written, place)
        return self._entry(path, self._fs.info(place))

    def without_conditions(self):
        return (
            f"{self.url} cannot compare versions: an object that another program replaces in the moment between the job's look "
            "and its write is lost"
        )

    def sync(self, uploads):
        return False

    def abort(self, upload):
        with contextlib.suppress(Exception):
            if upload[2] in self._writing:
                self._writing.pop(upload[2]).close()
        with contextlib.suppress(Exception):
            self._fs.rm_file(self._own(upload[2]))

    def copy_rest(self, source, source_file, start, sink):
        return start

    def remove_incomplete(self, is_ours):
        """Remove temporary files that earlier jobs have left. The caller holds the lock."""
        for info in self._fs.ls(f"{self.root}/{FOLDER}", detail=True):
            name = info["name"].rsplit("/", 1)[-1]
            if name.startswith("tmp-"):
                with contextlib.suppress(FileNotFoundError):
                    self._fs.rm_file(self._own(name))

    # The job's own files. The lock is a folder, which only one can make, and a file that tells of its holder.

    def lock(self, text):
        try:
            self._fs.mkdir(self._own("lock.d"), create_parents=False)
        except OSError:
            if not self._fs.isdir(self._own("lock.d")):
                raise
            return f"{self.lock_text() or 'another job'}. If that job has ended, repeat the command with --break-lock"
        self._fs.pipe_file(self._own("lock"), text.encode())
        self._lock_text = text
        return None

    @_repeated
    def lock_text(self):
        try:
            return self._fs.cat_file(self._own("lock"), 0, 1000).decode("utf-8", "replace")
        except FileNotFoundError:
            return None

    def break_lock(self):
        for remove, name in ((self._fs.rm_file, "lock"), (self._fs.rmdir, "lock.d")):
            with contextlib.suppress(FileNotFoundError):
                remove(self._own(name))

    def unlock(self):
        # Another job may have taken it over.
        if self._lock_text is not None and self.lock_text() == self._lock_text:
            self.break_lock()
        self._lock_text = None

    def manifests(self):
        try:
            found = self._fs.ls(f"{self.root}/{FOLDER}", detail=True)
        except FileNotFoundError:
            return
        for info in sorted(found, key=lambda info: info["name"]):
            name = info["name"].rsplit("/", 1)[-1]
            if name.startswith("manifest-") and name.endswith(".jsonl") and info["type"] == "file":
                yield name, self._pieces(self._own(name), info["size"])

    def _pieces(self, path, size):
        for start in range(0, size, _PIECE_BYTES):
            yield self._fs.cat_file(path, start, min(size, start + _PIECE_BYTES))

    @_repeated
    def append_manifest(self, name, data):
        # Not all stores can append.
        self._pieces_written += 1
        self._fs.pipe_file(self._own(f"manifest-{name}-{self._pieces_written:06}.jsonl"), bytes(data))


class _Source:
    """An object that is being read. Its version is looked at before, between and after reads."""

    piece_chunks = 128

    def __init__(self, store, entry):
        self.entry = entry
        self._store = store
        self.check()
        self._file = store._fs.open(store._path(entry.path), "rb")

    def check(self):
        now = self._store.stat(self.entry.path)
        if now is None:
            raise Failed(VANISHED)
        if not now.is_same(self.entry):
            raise Changed("it changed while it was read")

    def read(self, views, position):
        self._file.seek(position)
        for view in views:
            filled = 0
            while filled < len(view):
                data = self._file.read(len(view) - filled)
                if not data:
                    raise Changed("it became shorter while it was read")
                view[filled : filled + len(data)] = data
                filled += len(data)

    def close(self):
        self._file.close()


class _Sink:
    def __init__(self, file):
        self._file = file

    def write(self, views):
        for view in views:
            self._file.write(view)

    def finish(self):
        return None

    def close(self):
        """Nothing to do: the next part goes to the same file, which commit or abort closes."""


#: Classes by scheme, so that stores of one scheme are of one class.
_CLASSES: dict[str, Any] = {}


def _class_of(scheme):
    if scheme not in _CLASSES:
        _CLASSES[scheme] = _made_class_of(scheme)
    return _CLASSES[scheme]


def _made_class_of(scheme):
    import fsspec

    try:
        found = fsspec.get_filesystem_class(scheme)
    except ValueError:
        raise JobError(f"{scheme}:// is not supported: give a path, s3://BUCKET/PREFIX, or a URL that fsspec knows") from None
    except ImportError as error:
        raise JobError(f"{scheme}:// needs another package: {error}") from None
    return _with_known_hosts(found) if scheme in ("sftp", "ssh") and hasattr(found, "_connect") else found


def _with_known_hosts(base):
    """Return fsspec's class for SFTP, which accepts the key of any server, with the keys in ~/.ssh/known_hosts alone."""
    import paramiko

    class _Unknown(Exception):
        pass

    class _Refusal(paramiko.MissingHostKeyPolicy):
        def missing_host_key(self, client, hostname, key):
            raise _Unknown(f"the key of {hostname} is not in ~/.ssh/known_hosts")

    class _Checked(base):
        def _connect(self):
            self.client = paramiko.SSHClient()
            self.client.load_system_host_keys()
            self.client.set_missing_host_key_policy(_Refusal())
            try:
                self.client.connect(self.host, **self.ssh_kwargs)
            except (paramiko.BadHostKeyException, paramiko.AuthenticationException, _Unknown) as error:
                raise JobError(f"cannot connect to {self.host}: {error}") from None
            self.ftp = self.client.open_sftp()

    return _Checked


def _is_connected(fs):
    client = getattr(fs, "client", None)
    if client is None or not hasattr(client, "get_transport"):
        return True
    transport = client.get_transport()
    return transport is not None and transport.is_active()
