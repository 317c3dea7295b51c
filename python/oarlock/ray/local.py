"""A folder of this machine, or one that all machines of the cluster have mounted."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import stat
import threading

from . import headers
from .objects import APPEARED, FOLDER, REPLACED, VANISHED, Changed, Entry, Failed, JobError, Skipped, Unlisted, parts_of

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SYNC_EACH_MAX = 4
_unnumbered = None
_RENAME_NOREPLACE = 1
_UNKNOWN = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_libc = ctypes.CDLL(None, use_errno=True)
#: Of glibc 2.28 and later.
_renameat2 = getattr(_libc, "renameat2", None)
_fallocate, _sync_file_range = _libc.fallocate64, _libc.sync_file_range
_fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
_sync_file_range.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
_KEEP_SIZE = 1
_SYNC_WRITE = 2
#: After how many bytes of a file the disk begins to write them.
_WRITEBACK_BYTES = 8 << 20


class LocalStore:
    #: Requests at a time that gain from each other.
    parallel = 1
    #: How many a process may have at a time.
    parallel_max = 64
    #: Whether different workers can write ranges of an object.
    has_ranges = True
    #: Whether versions of objects are known, and recorded, before these get their names.
    announces = True

    def __init__(self, root):
        self.root = os.path.realpath(root)
        self.url = self.name = self.root
        #: The umask of the driver, if that is another process.
        self.umask = None
        self._lock = None
        self._held = _Held()

    def exists(self):
        return os.path.isdir(self.root)

    def create(self):
        os.makedirs(os.path.join(self.root, FOLDER), mode=0o777, exist_ok=True)
        # The job's own folder must not lead elsewhere.
        os.close(os.open(os.path.join(self.root, FOLDER), _FOLDER_FLAGS))

    def contains(self, other):
        """Whether the other store lies in this one, or is the same."""
        return isinstance(other, LocalStore) and os.path.join(other.root, "").startswith(os.path.join(self.root, ""))

    def folds_case(self):
        """Whether the store ignores letter case. Only known once the job's own folder exists."""
        folder = os.path.join(self.root, FOLDER)
        try:
            return os.path.samefile(folder, os.path.join(self.root, FOLDER.upper()))
        except OSError:
            return False

    def is_empty(self):
        if not self.exists():
            return True
        with os.scandir(self.root) as entries:
            return all(entry.name == FOLDER for entry in entries)

    def list(self):
        """Yield entries, and what was skipped."""
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                with os.scandir(os.path.join(self.root, folder)) as entries:
                    for entry in entries:
                        path = f"{folder}/{entry.name}" if folder else entry.name
                        if path == FOLDER:
                            continue
                        try:
                            status = entry.stat(follow_symlinks=False)
                        except FileNotFoundError:
                            continue
                        kind = stat.S_IFMT(status.st_mode)
                        if kind == stat.S_IFDIR:
                            folders.append(path)
                        elif kind == stat.S_IFREG:
                            yield _entry(path, status)
                        else:
                            what = "a symbolic link, which is not followed" if kind == stat.S_IFLNK else "not a regular file"
                            yield Skipped(path, what)
            except OSError as error:
                if folder == "":
                    raise JobError(f"cannot list {self.root}: {error.strerror}") from None
                yield Unlisted(folder, f"the folder cannot be listed: {error.strerror}")

    def stat(self, path):
        """Return the present version of an object, or None."""
        try:
            *folders, name = parts_of(path)
            status = os.stat(name, dir_fd=self.folder(folders), follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return _entry(path, status) if stat.S_ISREG(status.st_mode) else Entry(path, -1, "")

    def pinned(self, entry):
        return entry

    @contextlib.contextmanager
    def open(self, entry):
        """Open a version of an object. At the end of the block it is checked once more."""
        source = self.source(entry)
        try:
            yield source
            source.check()
        finally:
            source.close()

    def source(self, entry, access=os.O_RDONLY):
        return _Source(self, entry, access)

    @staticmethod
    def entry(path, status):
        return _entry(path, status)

    # Writing: a temporary file in the job's folder, which gets its name when it is complete.

    def begin(self, path, size, parts, replaced=None):
        """Begin an object of a length, in a number of parts. None is one after the other, as many as the store likes.
        ``replaced`` is what it may take the place of. Without it, there must not be an object of the name.

        Return what the other methods, on any machine, need to know of it.
        """
        parts_of(path)
        name = f"tmp-{os.urandom(8).hex()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(name, flags, 0o600, dir_fd=self.own())
        upload = (path, size, name, replaced)
        try:
            # Copies of whole extents need no room.
            if parts is not None and size >= _WRITEBACK_BYTES:
                _reserve(descriptor, size)
        except BaseException:
            self.abort(upload)
            raise
        finally:
            os.close(descriptor)
        return upload

    def part(self, upload, number, offset):
        """Return the sink of a part, which begins at this byte of the object."""
        folder = self.own()
        return _Sink(os.open(upload[2], os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=folder), offset)

    def finish(self, upload, mode=None):
        """Return the version that a complete object has once it gets its name."""
        return self._finished(upload, mode, is_synced=True)

    def _finished(self, upload, mode, is_synced):
        path, size, temporary, _ = upload
        descriptor = os.open(temporary, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, dir_fd=self.own())
        try:
            os.fchmod(descriptor, (0o666 if mode is None else mode & 0o777) & ~self._mask())
            if not is_synced:
                os.fsync(descriptor)
            status = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if status.st_size != size:
            raise OSError(errno.EIO, f"{status.st_size} bytes were written, not {size}")
        return _entry(path, status)

    def commit(self, upload, parts, mode=None, is_synced=False):
        """Give a complete object its name. Return its version.

        Raises Changed if the destination has not what the object may take the place of.
        """
        path, _, temporary, replaced = upload
        *folders, name = parts_of(path)
        finished = self._finished(upload, mode, is_synced)
        ours, folder = self.own(), self.folder(folders, make=True)
        if replaced is None:
            try:
                _rename_new(ours, temporary, folder, name)
            except FileExistsError:
                raise Changed(APPEARED) from None
            return finished
        if replaced.version is not None:
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                raise Changed(VANISHED) from None
            if not stat.S_ISREG(status.st_mode) or not _entry(path, status).is_same(replaced.version):
                raise Changed(REPLACED)
        os.rename(temporary, name, src_dir_fd=ours, dst_dir_fd=folder)
        return finished

    def _mask(self):
        if self.umask is None:
            self.umask = umask()
        return self.umask

    def sync(self, uploads):
        """Write the data of uploads to the disk. Return whether commit need not do it."""
        if len(uploads) <= _SYNC_EACH_MAX:
            return False
        # One call for all: a flush of the disk takes milliseconds.
        return _libc.syncfs(self.own()) == 0

    def settle(self):
        """Have the disk keep the names of all objects."""
        if _libc.syncfs(self.own()) != 0:
            os.sync()

    def abort(self, upload):
        with contextlib.suppress(OSError):
            os.unlink(upload[2], dir_fd=self.own())

    def copy_rest(self, source, source_file, start, sink):
        """Append the bytes of a file from a position on, without reading them into memory where the system can. Return where
        the rest begins, which the caller has to read."""
        if not isinstance(source, LocalStore):
            return start
        left = source_file.entry.size - start
        while left > 0:
            try:
                count = os.copy_file_range(source_file.descriptor, sink.descriptor, min(left, 1 << 30), start, sink.position)
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                    raise
                return start
            if count == 0:
                raise Changed("it became shorter while it was read")
            start += count
            sink.position += count
            left -= count
        return start

    # The job's own files.

    def lock(self, text):
        """Take the destination for this job. Return what holds it otherwise."""
        folder = self.own()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open("lock", flags, 0o666, dir_fd=folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held = os.pread(descriptor, 1000, 0).decode("utf-8", "replace")
            os.close(descriptor)
            return held or "another job"
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
        self._lock = descriptor
        # Of a job that ended before it could.
        try:
            self._remove_temporary()
            headers.finish(self)
        except BaseException:
            self.unlock()
            raise
        return None

    def _remove_temporary(self):
        for name in os.listdir(self.own()):
            if name.startswith("tmp-"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=self.own())

    def lock_text(self):
        """Return what the holder of the lock wrote, or None."""
        try:
            return self._read_own("lock", 1000).decode("utf-8", "replace")
        except OSError:
            return None

    def unlock(self):
        if self._lock is not None:
            # Of workers that were ended.
            self._remove_temporary()
            os.ftruncate(self._lock, 0)
            os.close(self._lock)
            self._lock = None

    def _read_own(self, name, most):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self.own())
        try:
            return os.read(descriptor, most)
        finally:
            os.close(descriptor)

    def manifests(self):
        """Yield names of manifests, and for each an iterator of its bytes in pieces."""
        return self._lines("manifest-")

    def _lines(self, prefix):
        try:
            names = os.listdir(self.own())
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            if name.startswith(prefix) and name.endswith(".jsonl"):
                yield name, self._pieces(name)

    def _pieces(self, name):
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self.own())
        with open(descriptor, "rb", buffering=0) as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield from iter(lambda: file.read(1 << 20), b"")

    def append_manifest(self, name, data):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(f"manifest-{name}.jsonl", flags, 0o666, dir_fd=self.own())
        try:
            _write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def write_manifest(self, name, pieces):
        """Write a manifest as a whole. It appears once it is complete and on the disk."""
        temporary, own = f"tmp-{os.urandom(8).hex()}", self.own()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o666, dir_fd=own)
        try:
            for piece in pieces:
                _write(descriptor, piece)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, f"manifest-{name}.jsonl", src_dir_fd=own, dst_dir_fd=own)
        os.fsync(own)

    def remove_manifest(self, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.own())

    # Journals of the versions that a group of objects has once it gets its names. The manifest takes them over.

    def announce(self, name, data, count):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(f"written-{name}.jsonl", flags, 0o666 & ~self._mask(), dir_fd=self.own())
        try:
            _write(descriptor, data)
            if count <= _SYNC_EACH_MAX:
                # Otherwise `sync` does it.
                os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def journals(self):
        """Yield the names of journals, and for each an iterator of its bytes in pieces."""
        for name, pieces in self._lines("written-"):
            yield name.removeprefix("written-").removesuffix(".jsonl"), pieces

    def remove_journal(self, name):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"written-{name}.jsonl", dir_fd=self.own())

    def own(self):
        """Return a descriptor of the job's own folder."""
        held = self._held
        if held.own is None:
            held.own = _Folder(os.open(os.path.join(self.root, FOLDER), _FOLDER_FLAGS))
        return held.own.descriptor

    def folder(self, names, make=False):
        """Return a descriptor of a folder below the root, valid until the thread asks for another one. No symbolic link is
        followed."""
        held = self._held
        key = "/".join(names)
        if held.key == key:
            return held.last.descriptor
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for name in names:
            try:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, 0o777 & ~self._mask(), dir_fd=folder)
                below = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
            finally:
                os.close(folder)
            folder = below
        held.key, held.last = key, _Folder(folder)
        return folder


class _Held(threading.local):
    """Folders that a thread has open: the job's own, and the last one of others."""

    own = key = last = None


class _Folder:
    """An open folder, closed with the last reference."""

    def __init__(self, descriptor):
        self.descriptor = descriptor

    def __del__(self):
        os.close(self.descriptor)


class _Source:
    """A version of a file that is being read."""

    #: What is read at a time stays in a core's cache until it is written.
    piece_chunks = 8

    def __init__(self, store, entry, access):
        self.entry = entry
        *folders, name = parts_of(entry.path)
        flags = access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self.descriptor = os.open(name, flags, dir_fd=store.folder(folders))
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise Failed("it is no longer a regular file") from None
            if error.errno == errno.ENOENT:
                raise Failed(VANISHED) from None
            raise
        try:
            self.check()
        except BaseException:
            self.close()
            raise

    def check(self):
        status = os.fstat(self.descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Failed("it is no longer a regular file")
        if not _entry(self.entry.path, status).is_same(self.entry):
            raise Changed("it changed while it was read")

    def read(self, views, position):
        """Fill buffers with the bytes from a position on."""
        while views:
            count = os.preadv(self.descriptor, views, position)
            if count == 0 and any(views):
                raise Changed("it became shorter while it was read")
            position += count
            views = _rest(views, count)

    def close(self):
        os.close(self.descriptor)


class _Sink:
    """A part of a temporary file that is being written."""

    def __init__(self, descriptor, position):
        self.descriptor = descriptor
        self.position = position

    def write(self, views):
        begin = self.position // _WRITEBACK_BYTES
        while views:
            count = os.pwritev(self.descriptor, views, self.position)
            self.position += count
            views = _rest(views, count)
        end = self.position // _WRITEBACK_BYTES
        if begin < end:
            # The disk works while the next bytes are sealed, so the flush at the end has less to wait for.
            _sync_file_range(self.descriptor, begin * _WRITEBACK_BYTES, (end - begin) * _WRITEBACK_BYTES, _SYNC_WRITE)

    def finish(self, is_range=False):
        if is_range:
            # The driver's flush would not cover what another machine has in its memory.
            os.fsync(self.descriptor)
        self.close()
        return None

    def close(self):
        # Closed once, even if that fails: the number may be another file's by then.
        descriptor, self.descriptor = self.descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _reserve(descriptor, size):
    """Have the file system find room for a file: it needs less work for each block then, and a full disk shows at once."""
    if _fallocate(descriptor, _KEEP_SIZE, 0, size) != 0:
        number = ctypes.get_errno()
        if number in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(number, os.strerror(number))


def sync_folder(path):
    """Have the disk keep the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask():
    """Return the mask of this process for the permissions of new files."""
    with open("/proc/self/status") as file:
        return int(next((line.split()[1] for line in file if line.startswith("Umask:")), "022"), 8)


def _rename_new(old_folder, old, new_folder, new):
    """Rename a file. Raises FileExistsError if there is one of the new name."""
    if _renameat2 is not None:
        if _renameat2(old_folder, os.fsencode(old), new_folder, os.fsencode(new), _RENAME_NOREPLACE) == 0:
            return
        number = ctypes.get_errno()
        if number not in _UNKNOWN:
            raise OSError(number, os.strerror(number))
    # NFS, for one, has no such renaming.
    try:
        os.link(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in (*_UNKNOWN, errno.EPERM, errno.EMLINK):
            raise
    else:
        os.unlink(old, dir_fd=old_folder)
        return
    # Nor hard links: all that is left is a look.
    with contextlib.suppress(FileNotFoundError):
        os.stat(new, dir_fd=new_folder, follow_symlinks=False)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.rename(old, new, src_dir_fd=old_folder, dst_dir_fd=new_folder)


def _write(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _rest(views, count):
    """Return what is left of buffers after some bytes."""
    for index, view in enumerate(views):
        if count < len(view):
            return [view[count:], *views[index + 1 :]]
        count -= len(view)
    return []


def _entry(path, status):
    # A program can set a file's time of modification, and neither of these two.
    inode = 0 if status.st_dev in _without_inodes() else status.st_ino
    stamp = (inode, status.st_ctime_ns)
    mode = stat.S_IMODE(status.st_mode)
    return Entry(path, status.st_size, f"{status.st_mtime_ns:x}", mode, stamp, is_settled=False)


def _without_inodes():
    """Return the devices of file systems whose inode numbers may differ between machines, and from one moment to another."""
    global _unnumbered
    if _unnumbered is None:
        _unnumbered = _read_without_inodes()
    return _unnumbered


def _read_without_inodes():
    found = set()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            mount, _, kind = line.partition(" - ")
            if kind.startswith(("fuse", "cifs", "smb", "9p")):
                major, _, minor = mount.split()[2].partition(":")
                found.add(os.makedev(int(major), int(minor)))
    return found
