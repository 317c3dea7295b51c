"""The manifest: lines of JSON, which make a job resumable.

A line tells of one object: ``path``, ``size`` and ``etag`` of the source, ``state`` ("begun", "written", "done" or "failed"),
for "written" and "done" ``output`` with the size and ETag of the destination, and for "done" ``sha256`` of the plaintext if it
was asked for. ``recipients`` and ``source`` name the lines that list recipients and the source's URL; a name with "+" is of
recipients that a rotation added to those of before. A list that is too long for one line has ``parts``.

An object of the destination is a job's own if it has a version that a line names as the output of the same source. A job may be
killed at any time, so lines are written ahead: "written" ones before the object has its name, into a journal of the group of
objects, which goes once the manifest has all its lines. In S3, where ETags are not known ahead, "begun" lines name the ``job``
whose mark the object bears.

Anybody who can write to the destination can write the manifest. So it never names what is read or written: a job looks up
objects that it has listed itself, and believes a line only if the destination has the version that the line names.

Each job writes a manifest of its own, or several, and reads those of all before. When they have become many, a job replaces
them by a snapshot (`snapshot.py`) at its start: a manifest with the next number, which tells the same as all before, so that
these go once it is on the disk, the oldest first. A job that is killed in between leaves a state that reads the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import sqlite3
import threading
import time

from .lines import (
    ADDED_MAX,
    LINE_BYTES_MAX,
    PARTS_MAX,
    Known,
    Outputs,
    checked,
    kept_of,
    line_of,
    list_lines,
    recipients_name,
    source_name,
    split,
    version_of,
)
from .local import sync_folder
from .objects import SUFFIX, JobError, mark_of
from .snapshot import Snapshot

_IGNORED_SHOWN_MAX = 10
_NAME_DIGITS = 12
#: A number that none can follow: names are as long as their order needs.
_NUMBER_MAX = 10**_NAME_DIGITS - 1
_NAME = re.compile(rf"manifest-([0-9]{{{_NAME_DIGITS}}})(?:-([0-9]{{1,18}}))?\.jsonl")
#: A job that finds more manifests than this, or more lines than this and twice those of the last snapshot, makes a snapshot.
_MANIFESTS_MAX = 64
_LINES_MAX = 10_000
_SNAPSHOT_PIECE_BYTES = 1 << 20
_LOADS_MAX = 5
_FLUSH_BYTES = 1 << 20
_FLUSH_SECONDS = 10


class Manifest:
    def __init__(self, command, source, target, path=None, is_written=True, job=""):
        self._command = command
        self._source = source_name(source)
        self._target = target
        self._target_name = source_name(target)
        #: Whose marks objects bear, where the store keeps such.
        self._job = job
        self._released = []
        self._path = path
        self._number = 0
        self._lines = bytearray()
        self._head = bytearray()
        self._flushed = time.monotonic()
        #: Names of recipients and sources that have a line.
        self._named = set()
        self._list(self._source, [source.url])
        self._is_written = is_written
        #: Lines that were not understood: how many, and what was wrong with the first of them.
        self.ignored_count = 0
        self.ignored = []
        # A file without a name, which holds what the memory should not.
        self._database = sqlite3.connect("", check_same_thread=False)
        self._known = Known(self._database)
        self._outputs = Outputs(self._database, self._target_name)
        self._database.execute("CREATE TABLE recipients (name TEXT PRIMARY KEY, list TEXT) WITHOUT ROWID")
        self._database.execute(
            "CREATE TABLE parts (name TEXT, part INTEGER, list TEXT, PRIMARY KEY (name, part)) WITHOUT ROWID"
        )
        self._mutex = threading.Lock()
        #: The manifests that were read, their lines, and those that the last snapshot had.
        self._names = []
        self._read_count = self._snapshot_count = 0
        self._load()
        if is_written and path is not None:
            _remove_left(os.path.realpath(path))
        if is_written and (len(self._names) > _MANIFESTS_MAX or self._read_count > _LINES_MAX + 2 * self._snapshot_count):
            self._compact()

    def known(self, path):
        """Return the last line of an object of this source, or None."""
        with self._mutex:
            found = self._known.get(path)
        return found if found and self._is_ours(found["source"]) else None

    def is_for(self, line, name):
        """Whether an object with this line is for recipients of a name: all that it has, or all but those that were added."""
        if line["recipients"] == name or not line["added"]:
            return line["recipients"] == name
        listed = set()
        with self._mutex:
            for one in (line["recipients"], *line["added"]):
                row = self._database.execute("SELECT list FROM recipients WHERE name = ?", (one,)).fetchone()
                if row is None:
                    return False
                listed.update(json.loads(row[0]))
        return recipients_name(listed) == name

    def has(self, path):
        """Whether a line names an object of this path, of any source."""
        with self._mutex:
            return self._known.get(path) is not None

    def _is_ours(self, source):
        # Lines of versions before sources had names have none.
        return source in (None, "", self._source)

    def owns(self, path, present):
        """Whether a job from this source has written the version of an object that is in the destination."""
        mark = present.mark.rpartition("-")[0]
        if self._job and mark == mark_of(self._job, path):
            return True
        versions = [version_of(present.size, present.etag), *([f"mark:{mark}"] if mark else ())]
        with self._mutex:
            return any(map(self._is_ours, self._outputs.sources(path, *versions)))

    def refresh(self):
        """Read what workers have written into journals."""
        with self._mutex:
            for _, pieces in self._target.journals():
                for line in split(pieces):
                    try:
                        self._take(*checked(line))
                    except ValueError:
                        continue

    def release(self, journal):
        """Have a journal removed: the manifest has the lines of all its objects."""
        with self._mutex:
            self._released.append(journal)

    def add(self, entry, state, recipients=(), keep=False, **more):
        """Add the line of an object. It is durable after flush."""
        line = line_of(self._command, self._source, entry, state)
        if state == "begun" and self._job:
            line["job"] = self._job
        with self._mutex:
            if recipients:
                line["recipients"] = recipients_name(recipients, keep)
                self._list(line["recipients"], sorted(recipients), "recipients")
            line.update(more)
            text = json.dumps(line)
            if state == "written":
                self._take(*checked(text.encode()))
            elif state == "done":
                # A listing may have the object twice.
                self._known.put(entry.path, kept_of(line, line["output"]))
            self._lines += text.encode() + b"\n"
        self.flush_if_due()

    def keep(self, journal):
        """Take the lines of a journal over, some of whose objects have no line of their own. It may be absent."""
        with self._mutex:
            for name, pieces in self._target.journals():
                if name == journal:
                    for line in self._read(f"journal {name}", pieces):
                        self._lines += line + b"\n"
                    self._released.append(name)

    def _list(self, name, listed, kind="source"):
        if name not in self._named:
            self._named.add(name)
            self._head += b"".join(list_lines(kind, name, listed))

    def flush_if_due(self):
        """Have the lines on the disk that have waited for long, or are many."""
        with self._mutex:
            is_late = self._lines and time.monotonic() > self._flushed + _FLUSH_SECONDS
            is_due = is_late or len(self._lines) >= _FLUSH_BYTES
        if is_due:
            self.flush()

    def flush(self):
        with self._mutex:
            data, self._lines = self._lines, bytearray()
            self._flushed = time.monotonic()
            released, self._released = self._released, []
            if not self._is_written:
                return
            if data:
                data, self._head = self._head + data, bytearray()
                self._append(data)
            for journal in released:
                # What is left, the next job takes over.
                with contextlib.suppress(Exception):
                    self._target.remove_journal(journal)

    def _append(self, data):
        if self._path is None:
            self._target.append_manifest(f"{self._number + 1:0{_NAME_DIGITS}}", data)
        else:
            with open(self._path, "a+b") as file:
                if file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                    # The last line of a job that was killed.
                    file.write(b"\n")
                file.write(data)
                file.flush()
                os.fsync(file.fileno())

    def close(self):
        self.flush()
        self._database.close()

    def _load(self):
        for attempt in range(1, _LOADS_MAX + 1):
            try:
                return self._load_once()
            except FileNotFoundError:
                # A job without the lock reads while another one replaces manifests by a snapshot.
                if attempt == _LOADS_MAX:
                    raise
            self._known.clear()
            self._outputs.clear()
            for table in ("recipients", "parts"):
                self._database.execute(f"DELETE FROM {table}")
            self._lines, self._released, self._names = bytearray(), [], []
            self.ignored, self.ignored_count, self._read_count, self._snapshot_count = [], 0, 0, 0

    def _load_once(self):
        for name, pieces in self._manifests():
            self._names.append(name)
            self._read(name, pieces)
        for journal, pieces in self._target.journals():
            # Of a job that was killed. Its lines are this one's, so that the journal may go.
            for line in self._read(f"journal {journal}", pieces):
                self._lines += line + b"\n"
            self._released.append(journal)
        self._database.commit()

    def _manifests(self):
        return _own_file(self._path) if self._path is not None else self._in_order()

    def _compact(self):
        """Replace the manifests by a snapshot of them. The caller holds the lock."""
        number = self._number + 1
        if self._path is None and number + 1 >= _NUMBER_MAX:
            return
        with contextlib.closing(Snapshot(self._target_name)) as snapshot:
            for _, pieces in self._manifests():
                for line in split(pieces):
                    with contextlib.suppress(ValueError):
                        snapshot.take(line)
            pieces = self._snapshot_pieces(snapshot)
            if self._path is not None:
                # Where the file may be changed, and its folder not, it stays as it is.
                with contextlib.suppress(PermissionError):
                    _replace(self._path, pieces)
                return
            self._number = number
            self._target.write_manifest(f"{number:0{_NAME_DIGITS}}", pieces)
        # What is left, the next snapshot takes over. A mark that a later manifest ends must not outlast that one.
        with contextlib.suppress(Exception):
            for name in self._names:
                self._target.remove_manifest(name)

    def _snapshot_pieces(self, snapshot):
        """Yield the bytes of a snapshot, in pieces. The last line tells how many there are, for the next job to compare."""
        piece, count = bytearray(), 0
        for name, listed in self._database.execute("SELECT name, list FROM recipients ORDER BY name"):
            for line in list_lines("recipients", name, json.loads(listed)):
                piece += line
                count += 1
        for line in snapshot.lines():
            if len(line) <= LINE_BYTES_MAX:
                piece += line + b"\n"
                count += 1
            if len(piece) >= _SNAPSHOT_PIECE_BYTES:
                yield bytes(piece)
                piece.clear()
        yield bytes(piece + json.dumps({"list": [], "snapshot": count}).encode() + b"\n")

    def _in_order(self):
        """Return manifests in the order of their numbers, so that the last line of an object counts. Clocks would not do."""
        found = []
        for name, pieces in self._target.manifests():
            parts = _NAME.fullmatch(name)
            if parts is None or int(parts[1]) >= _NUMBER_MAX:
                self._ignore(f"{name}: not the name of a manifest")
                continue
            found.append((int(parts[1]), int(parts[2] or 0), name, pieces))
        found.sort(key=lambda one: one[:3])
        if found:
            self._number, _, name, _ = found[-1]
            if self._number + 1 >= _NUMBER_MAX and self._is_written:
                raise JobError(f"{self._target.url}: no number is left after {name}: remove it if no job has written it")
        return [(name, pieces) for _, _, name, pieces in found]

    def _read(self, name, pieces):
        """Take the lines of a manifest. Return those that were understood."""
        taken = []
        for number, line in enumerate(split(pieces), 1):
            self._read_count += 1
            try:
                command, path, fields = checked(line)
                self._take(command, path, fields)
            except ValueError as error:
                self._ignore(f"line {number}: {error}")
            else:
                if name.startswith("journal"):
                    taken.append(line)
        return taken

    def _ignore(self, reason):
        self.ignored_count += 1
        if self.ignored_count <= _IGNORED_SHOWN_MAX:
            self.ignored.append(reason)

    def _take(self, command, path, fields):
        if command is None:
            return self._take_list(fields)
        is_in_place = self._outputs.take(command, path, fields)
        if fields.get("state") == "written":
            return
        if command == "rotate" and self._command == "encrypt":
            # What was encrypted has another header since, if it was rotated in place.
            path = path.removesuffix(SUFFIX)
            known = self._known.get(path)
            if known is None or not is_in_place or fields["state"] != "done":
                return
            name, added = fields["recipients"], []
            if name and name.startswith("+"):
                others = [one for one in known["added"] if one != name]
                added = [*others, name][-ADDED_MAX:]
                name = known["recipients"]
            fields = {**known, "output": fields["output"], "recipients": name, "added": added}
        elif command != self._command:
            return
        self._known.put(path, fields)

    def _take_list(self, fields):
        """Note recipients. Their name tells whether they are those that it is of."""
        if type(fields.get("snapshot")) is int:
            self._snapshot_count = max(self._snapshot_count, fields["snapshot"])
        name, listed = fields.get("recipients"), fields["list"]
        if not isinstance(name, str) or not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            return
        part, parts = fields.get("part"), fields.get("parts")
        if isinstance(part, int) and isinstance(parts, int):
            if not 0 < part <= parts <= PARTS_MAX:
                return
            self._database.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", (name, part, json.dumps(listed)))
            found = self._database.execute("SELECT list FROM parts WHERE name = ? AND part <= ? ORDER BY part", (name, parts))
            found = found.fetchall() if part == parts else ()
            listed = [one for (piece,) in found for one in json.loads(piece)]
        if name == recipients_name(listed, name.startswith("+")):
            self._database.execute("INSERT OR IGNORE INTO recipients VALUES (?, ?)", (name, json.dumps(listed)))


def _own_file(path):
    try:
        with open(path, "rb", buffering=0) as file:
            yield "", iter(lambda: file.read(1 << 20), b"")
    except FileNotFoundError:
        return


def _replace(path, pieces):
    """Replace a file, so that at any time it has either content in whole."""
    path = os.path.realpath(path)
    descriptor, temporary = _temporary(path)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, os.stat(path).st_mode & 0o777)
            file.writelines(pieces)
            file.flush()
            os.fsync(descriptor)
            os.rename(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(path))


def _temporary(path):
    """Return a new file next to another one: its descriptor, locked while it is being written, and its path."""
    while True:
        temporary = f"{path}.tmp-{os.urandom(8).hex()}"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, temporary
        # Another job took it for one that was left, before it was locked.
        os.close(descriptor)


def _remove_left(path):
    """Remove what jobs have left that were killed while they replaced a file. Jobs of another destination may use it too."""
    folder, name = os.path.split(path)
    left = re.compile(re.escape(name) + r"\.tmp-[0-9a-f]{16}")
    # What cannot be removed stays.
    with contextlib.suppress(OSError):
        for found in filter(left.fullmatch, os.listdir(folder)):
            with contextlib.suppress(OSError):
                descriptor = os.open(os.path.join(folder, found), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
                with open(descriptor, "rb"):
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(os.path.join(folder, found))
