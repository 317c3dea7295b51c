"""Folders of other stores, by the file systems of fsspec: SFTP and what its plugins have.

Such a store has neither conditional writes nor uploads of parts: an object is written as a temporary file by one worker, and
renamed. Versions of objects are told apart by what the store tells of them, for SFTP the length and the second of the
modification. A destination has to rename files and to make a folder for one caller only, which the start of a job tests.
"""

from __future__ import annotations

import contextlib
import functools
import os
import random
import stat
import threading
import time
from typing import Any

from .objects import APPEARED, FOLDER, REPLACED, VANISHED, Changed, Entry, Failed, JobError, Skipped, Unlisted, parts_of

#: What may tell versions apart, the best first.
_VERSIONS = (
    *("ETag", "etag", "md5Hash", "md5", "checksum", "mtime", "last_modified", "LastModified", "modified", "updated"),
    *("modificationTime", "modify"),
)
_PIECE_BYTES = 8 << 20
_CONNECTION_ATTEMPTS = 4
#: Errors that another connection does not mend.
_ANSWERS = (JobError, Failed, Changed, ValueError, NotImplementedError)


def _repeated(method):
    """Have a method try once more, by another connection, if it has lost its own."""

    @functools.wraps(method)
    def repeated(self, *arguments):
        fs = self._fs
        try:
            return method(self, *arguments)
        except _ANSWERS:
            raise
        except Exception as error:
            is_answer = isinstance(error, OSError) and not isinstance(error, ConnectionError)
            if is_answer and _is_connected(fs):
                raise
        self._held.fs = None
        return method(self, *arguments)

    return repeated


class PluginStore:
    parallel = 1
    #: Each has a connection, and an SSH server drops new ones while 10 have not logged in.
    parallel_max = 2
    #: One worker writes the whole of an object.
    has_ranges = False
    announces = True

    def __init__(self, url):
        from fsspec.core import split_protocol

        self._scheme = split_protocol(url)[0]
        if self._scheme == "memory":
            raise JobError("memory:// is private to a process, so workers cannot read it: give a folder")
        self.url = url.rstrip("/")
        self._class = _class_of(self._scheme)
        self._options = self._class._get_kwargs_from_urls(url)
        if self._options.get("password"):
            raise JobError(f"a password in a URL of {self._scheme}:// would be in logs and lists of processes: use a key")
        names = split_protocol(url)[1].rstrip("/").split("/")[1:]
        if any(name in ("", ".", "..") for name in names):
            raise JobError(f"{url}: give the folder's path without '.', '..' and empty names")
        self.root = self._class._strip_protocol(url).rstrip("/")
        self._held = threading.local()
        self.name = repr((*self._server(), self.root))
        self._writing = {}
        self._finished = {}
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
            self._held.can_sync = None
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
        from fsspec import AbstractFileSystem

        if self._class.mv is AbstractFileSystem.mv:
            # It copies and removes: a copy that is cut short would have the object's name.
            raise JobError(f"{self._scheme}:// cannot rename files, so it cannot be a destination")
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
        """Whether the other store lies in this one, or is the same: by whatever user, and however its URL is written."""
        is_here = isinstance(other, PluginStore) and other._server() == self._server()
        return is_here and f"{other.root}/".startswith(f"{self.root}/")

    def _server(self):
        options = {name: value for name, value in self._options.items() if name not in ("username", "user")}
        scheme = "sftp" if self._scheme == "ssh" else self._scheme
        if scheme == "sftp":
            options.setdefault("port", 22)
        if isinstance(options.get("host"), str):
            options["host"] = options["host"].lower()
        return scheme, options

    def folds_case(self):
        """Whether the store ignores letter case. Only known once the job's own folder exists."""
        try:
            names = {entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in self._listing(self.root)}
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
                found = self._listing(f"{self.root}/{folder}" if folder else self.root)
            except JobError:
                raise
            except Exception as error:
                # A store's library has exceptions of its own.
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
                    is_link = info["type"] == "link"
                    yield Skipped(path, "a symbolic link, which is not followed" if is_link else "not a regular file")

    @_repeated
    def _listing(self, folder):
        return self._fs.ls(folder, detail=True)

    def _entry(self, path, info):
        version = next((str(info[name]) for name in _VERSIONS if info.get(name) not in (None, "")), None)
        if version is None:
            raise JobError(
                f"{self._scheme}:// does not tell versions of files apart: {path!r} has no time of modification or ETag"
            )
        return Entry(path, info["size"], version, is_settled=False)

    @_repeated
    def stat(self, path):
        fs, place = self._fs, self._path(path)
        try:
            info = fs.info_of_link(place) if hasattr(fs, "info_of_link") else fs.info(place)
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
            if _has_answers(file):
                # paramiko sends further writes before the server has answered.
                file.set_pipelined(True)
        return _Sink(self._writing[name], self._can_sync(self._writing[name]))

    def _can_sync(self, file):
        """Whether the server of this thread's connection can write a file to its disk. An empty file tells."""
        if self._held.can_sync is None:
            try:
                self._held.can_sync = _has_answers(file) and _sync(file) is None
            except OSError:
                self._held.can_sync = False
        return self._held.can_sync

    def commit(self, upload, parts, mode=None, is_synced=False):
        path, size, name, replaced = upload
        if name not in self._finished:
            self.finish(upload)
        written, place = self._own(name), self._path(path)
        self._make_folder(place.rsplit("/", 1)[0])
        if replaced is None:
            self._rename_new(path, written, place)
        else:
            if replaced.version is not None:
                now = self.stat(path)
                if now is None:
                    raise Failed(VANISHED) if replaced.is_source else Changed(VANISHED)
                if not now.is_same(replaced.version):
                    raise Changed(REPLACED)
            self._fs.mv(written, place)
        self._finished.pop(name)
        # Some stores answer that they have renamed a file, and have not.
        output = self._entry(path, self._fs.info(place))
        if output.size != size or self._is_there(written):
            raise OSError("the store did not give the temporary file its name")
        return output

    def finish(self, upload, mode=None):
        """Return the version that a complete object has once it gets its name, as far as renaming keeps versions."""
        path, size, name, _ = upload
        file = self._writing.pop(name, None)
        if file is not None:
            file.close()
        found = self._entry(path, self._fs.info(self._own(name)))
        if found.size != size:
            raise OSError(f"{found.size} bytes were written, not {size}")
        self._finished[name] = found
        return found

    def _rename_new(self, path, written, place):
        """Rename a file, unless there is one of the new name."""
        client = getattr(self._fs, "ftp", None)
        try:
            if hasattr(client, "posix_rename"):
                # Unlike that, the request of all versions of SFTP replaces nothing.
                client.rename(written, place)
                return
        except OSError:
            if self.stat(path) is not None:
                raise Changed(APPEARED) from None
            raise
        if self.stat(path) is not None:
            raise Changed(APPEARED)
        self._fs.mv(written, place)

    def _is_there(self, path):
        try:
            self._fs.info(path)
        except FileNotFoundError:
            return False
        return True

    def without_conditions(self):
        return (
            f"{self.url} cannot compare versions: an object that another program replaces in the moment between the job's look "
            "and its write is lost"
        )

    def sync(self, uploads):
        return False

    def abort(self, upload):
        self._finished.pop(upload[2], None)
        with contextlib.suppress(Exception):
            if upload[2] in self._writing:
                self._writing.pop(upload[2]).close()
        with contextlib.suppress(Exception):
            self._fs.rm_file(self._own(upload[2]))

    def copy_rest(self, source, source_file, start, sink):
        return start

    def remove_incomplete(self, is_ours):
        """Remove temporary files that earlier jobs have left. The caller holds the lock."""
        for info in self._listing(f"{self.root}/{FOLDER}"):
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
        with contextlib.suppress(OSError):
            self._fs.mkdir(self._own("lock.d"), create_parents=False)
            raise JobError(f"{self.url} has no folders that only one job can make, so it cannot be locked")
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
        return self._lines("manifest-")

    def announce(self, name, data, count):
        self._put(self._own(f"written-{name}.jsonl"), data)

    def journals(self):
        for name, pieces in self._lines("written-"):
            yield name.removeprefix("written-").removesuffix(".jsonl"), pieces

    def remove_journal(self, name):
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._own(f"written-{name}.jsonl"))

    def _lines(self, prefix):
        try:
            found = self._listing(f"{self.root}/{FOLDER}")
        except FileNotFoundError:
            return
        for info in found:
            name = info["name"].rsplit("/", 1)[-1]
            if name.startswith(prefix) and name.endswith(".jsonl") and info["type"] == "file":
                yield name, self._pieces(self._own(name), info["size"])

    def _pieces(self, path, size):
        for start in range(0, size, _PIECE_BYTES):
            yield self._piece(path, start, min(size, start + _PIECE_BYTES))

    @_repeated
    def _piece(self, path, start, end):
        return self._fs.cat_file(path, start, end)

    def append_manifest(self, name, data):
        # Not all stores can append.
        self._pieces_written += 1
        self._put(self._own(f"manifest-{name}-{self._pieces_written:06}.jsonl"), bytes(data))

    def write_manifest(self, name, pieces):
        """Write a manifest as a whole. It appears once it is complete."""
        temporary, place, size = self._own(f"tmp-{os.urandom(8).hex()}"), self._own(f"manifest-{name}.jsonl"), 0
        with self._fs.open(temporary, "wb") as file:
            sink = _Sink(file, self._can_sync(file))
            for piece in pieces:
                sink.write([piece])
                size += len(piece)
            sink.finish()
        self._fs.mv(temporary, place)
        # Some stores answer that they have renamed a file, and have not.
        if self._fs.info(place)["size"] != size:
            raise OSError(f"the store did not write the manifest {name}")

    @_repeated
    def remove_manifest(self, name):
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._own(name))

    @_repeated
    def _put(self, path, data):
        self._fs.pipe_file(path, data)


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
    def __init__(self, file, can_sync):
        self._file = file
        self._can_sync = can_sync

    def write(self, views):
        for view in views:
            self._file.write(view)

    def finish(self, is_range=False):
        """Wait until the store has written what it was given, on its disk if it can tell."""
        self._file.flush()
        if _has_answers(self._file):
            waiting = self._file._reqs
            while waiting:
                self._file.sftp._read_response(waiting.popleft())
        if self._can_sync:
            _sync(self._file)
        return None

    def close(self):
        """Nothing to do: the next part goes to the same file, which commit or abort closes."""


def _has_answers(file):
    """Whether a file is one of paramiko's, whose answers to writes can be read.

    paramiko itself does not look at those that are left when a file is closed.
    """
    return hasattr(file, "set_pipelined") and hasattr(file, "_reqs")


def _sync(file):
    """Have an SFTP server write a file to its disk, by an extension of OpenSSH's."""
    from paramiko.sftp import CMD_EXTENDED

    file.sftp._request(CMD_EXTENDED, "fsync@openssh.com", file.handle)


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
            for attempt in range(1, _CONNECTION_ATTEMPTS + 1):
                try:
                    self.client.connect(self.host, **self.ssh_kwargs)
                    self.ftp = self.client.open_sftp()
                    return
                except (paramiko.BadHostKeyException, paramiko.AuthenticationException, _Unknown) as error:
                    raise JobError(f"cannot connect to {self.host}: {error}") from None
                except (paramiko.SSHException, EOFError, OSError) as error:
                    # A server drops some of the connections that begin at the same time.
                    self.client.close()
                    if attempt == _CONNECTION_ATTEMPTS:
                        raise ConnectionError(f"cannot connect to {self.host}: {error}") from None
                time.sleep(0.2 * 2**attempt * random.uniform(0.5, 1))

        def info_of_link(self, path):
            return {**self._decode_stat(self.ftp.lstat(path)), "name": path}

        @staticmethod
        def _decode_stat(status, parent_path=None):
            info = base._decode_stat(status, parent_path)
            if info["type"] == "file" and not stat.S_ISREG(status.st_mode):
                # Reading a pipe would not end.
                info["type"] = "other"
            return info

    return _Checked


def _is_connected(fs):
    client = getattr(fs, "client", None)
    if client is None or not hasattr(client, "get_transport"):
        return True
    transport = client.get_transport()
    return transport is not None and transport.is_active() and not fs.ftp.get_channel().closed
