"""Lines of manifests and journals: what they tell, and what is not believed."""

from __future__ import annotations

import hashlib
import json
import os

from .objects import mark_of, output_of

LINE_BYTES_MAX = 64 << 10
#: Bytes of recipients in a line, and lines of a list. The header of a file, of 1 MiB, holds fewer.
_LISTED_BYTES_MAX = 48 << 10
PARTS_MAX = 64
#: Rotations with other recipients that are added, of one object. The latest count.
ADDED_MAX = 100
_NEW_MAX = 10_000
_STATES = ("begun", "written", "done", "failed")


def line_of(command, source, entry, state, **more):
    """Return the line of an object."""
    line = {"command": command, "path": entry.path, "size": entry.size, "etag": entry.etag, "state": state, "source": source}
    return {**line, **more}


def output(entry):
    return {"size": entry.size, "etag": entry.etag}


def source_name(store):
    """Return a short name of a store."""
    return hashlib.sha256(os.fsencode(store.name)).hexdigest()[:16]


def recipients_name(recipients, keep=False):
    """Return a short name of a set of recipients: all of an object, or those that were added."""
    name = hashlib.sha256("\n".join(sorted(recipients)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"+{name}" if keep else name


def list_lines(kind, name, listed):
    """Return the lines of a list, each short enough to be read back."""
    groups, size = [[]], 0
    for one in listed:
        length = len(json.dumps(one)) + 2
        if groups[-1] and size + length > _LISTED_BYTES_MAX:
            groups.append([])
            size = 0
        groups[-1].append(one)
        size += length
    if len(groups) == 1:
        return [json.dumps({kind: name, "list": listed}).encode() + b"\n"]
    lines = ({kind: name, "part": part, "parts": len(groups), "list": group} for part, group in enumerate(groups, 1))
    return [json.dumps(line).encode() + b"\n" for line in lines]


def version_of(size, etag):
    """Return a version of an object as one text, or None if there is none."""
    return f"{size}:{etag}" if type(size) is int and isinstance(etag, str) else None


def split(pieces):
    """Yield the lines of a text that comes in pieces. A line that is too long is cut short."""
    rest = bytearray()
    for piece in pieces:
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            rest += piece[start : min(end, start + LINE_BYTES_MAX + 1)]
            yield bytes(rest[: LINE_BYTES_MAX + 1])
            rest.clear()
            start = end + 1
        rest += piece[start : start + LINE_BYTES_MAX + 1]
        del rest[LINE_BYTES_MAX + 1 :]
    # The last line of a job that was killed may have no end, and is not complete.


def checked(line):
    """Return command, path and fields of a line. The command is None for a line that is not about an object."""
    if len(line) > LINE_BYTES_MAX:
        raise ValueError(f"longer than {LINE_BYTES_MAX} bytes")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("not JSON") from None
    if not isinstance(fields, dict):
        raise ValueError("not an object of JSON")
    if "list" in fields:
        return None, "", fields
    if not isinstance(fields.get("command"), str):
        raise ValueError("no command")
    path, output = fields.get("path"), fields.get("output", {})
    if not isinstance(path, str) or not path:
        raise ValueError("no path")
    if fields.get("state") not in _STATES:
        raise ValueError("no known state")
    if not isinstance(output, dict):
        raise ValueError("the output is not an object of JSON")
    kept = kept_of(fields, output)
    names = [kept[key] for key in ("recipients", "source", "job") if kept[key] is not None]
    if not all(isinstance(name, str) and name.isascii() for name in names):
        raise ValueError("the recipients, the source or the job is not a name")
    return fields.get("command"), path, kept


def kept_of(fields, output):
    """Return what is kept of a line."""
    kept = {key: fields.get(key) for key in ("size", "etag", "state", "recipients", "sha256", "header", "source", "job")}
    return {**kept, "output": {key: output.get(key) for key in ("size", "etag")}, "added": []}


class Known:
    """The last line of each object: a table of a database, for what the memory should not hold."""

    def __init__(self, database):
        self._database = database
        database.execute("CREATE TABLE known (path BLOB PRIMARY KEY, line TEXT) WITHOUT ROWID")
        self._new = {}

    def get(self, path):
        """Return the fields of an object's line, or None."""
        path = os.fsencode(path)
        if path in self._new:
            return self._new[path]
        row = self._database.execute("SELECT line FROM known WHERE path = ?", (path,)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, path, fields):
        self._new[os.fsencode(path)] = fields
        if len(self._new) >= _NEW_MAX:
            self._write()

    def all(self):
        """Yield paths and fields, in the order of paths."""
        self._write()
        for path, line in self._database.execute("SELECT path, line FROM known ORDER BY path"):
            yield path, json.loads(line)

    def clear(self):
        self._new.clear()
        self._database.execute("DELETE FROM known")

    def _write(self):
        rows = ((path, json.dumps(fields)) for path, fields in self._new.items())
        self._database.executemany("INSERT OR REPLACE INTO known VALUES (?, ?)", rows)
        self._new.clear()


class Outputs:
    """The versions, or marks, that objects of the destination have by jobs of a source: a table of a database."""

    def __init__(self, database, target_name):
        self._database = database
        self._target_name = target_name
        # The age counts the versions that have been done since, for a snapshot. It is NULL before the first is.
        columns = "path BLOB, version TEXT, source TEXT, age INTEGER, PRIMARY KEY (path, version, source)"
        database.execute(f"CREATE TABLE outputs ({columns}) WITHOUT ROWID")
        #: Rows that are not in the table yet: many at a time cost little more than one.
        self._new = []
        self._has_marks = False

    def _execute(self, query, values=()):
        if self._new:
            insert = "INSERT OR IGNORE INTO outputs (path, version, source) VALUES (?, ?, ?)"
            self._database.executemany(insert, self._new)
            self._new.clear()
        return self._database.execute(query, values)

    def clear(self):
        self._new.clear()
        self._execute("DELETE FROM outputs")

    def take(self, command, path, fields):
        """Note whose an object of the destination is. Return whether it was rotated in place."""
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise ValueError("the path has no bytes") from None
        is_in_place = command == "rotate" and fields["source"] in (None, self._target_name)
        row = _output_row(command, path, fields)
        if row is None:
            return is_in_place
        place, version, _ = row
        self._new.append(row)
        if len(self._new) >= _NEW_MAX:
            self._execute("SELECT 1")
        self._has_marks = self._has_marks or version.startswith("mark:")
        if fields["state"] == "done" and self._has_marks:
            # From here on only the version tells: marks may outlast a change of the object.
            self._execute("DELETE FROM outputs WHERE path = ? AND version LIKE 'mark:%'", (place,))
        if is_in_place:
            # It stays that of the source whose job wrote what was rotated.
            whose = "SELECT path, ?, source FROM outputs WHERE path = ? AND version = ?"
            values = (version, place, version_of(fields["size"], fields["etag"]))
            self._execute(f"INSERT OR IGNORE INTO outputs (path, version, source) {whose}", values)
        return is_in_place

    def sources(self, path, *versions):
        """Return the sources whose jobs have written one of the versions of an object, or left a mark on it."""
        query = f"SELECT source FROM outputs WHERE path = ? AND version IN ({', '.join('?' * len(versions))})"
        return [source for (source,) in self._execute(query, (os.fsencode(path), *versions))]

    def leave(self, command, path, fields):
        """Remove what a line tells of an object."""
        row = _output_row(command, path, fields)
        if row is not None:
            self._execute("DELETE FROM outputs WHERE path = ? AND version = ? AND source = ?", row)

    def replace(self, command, path, fields):
        """Note that the version of a line took the place of all others of its object."""
        row = _output_row(command, path, fields)
        if row is None:
            return
        if not self._execute("SELECT 1 FROM outputs WHERE path = ? AND version = ? AND age = 0", row[:2]).fetchone():
            aged = "UPDATE outputs SET age = IFNULL(age, 0) + 1 WHERE path = ? AND version <> ? AND version NOT LIKE 'mark:%'"
            self._execute(aged, row[:2])
            self.age(command, path, fields, 0)

    def age(self, command, path, fields, age):
        """Set the age of the version of a line."""
        row = _output_row(command, path, fields)
        if row is not None:
            self._execute("UPDATE outputs SET age = ? WHERE path = ? AND version = ?", (age, *row[:2]))

    def rest(self):
        """Yield paths, versions, sources and ages, without marks, and without versions that two others have replaced since.

        A crash may bring back the version before the last one, of a job whose names were not on the disk. Nothing but a
        backup brings back those before.
        """
        query = "SELECT path, version, source, age FROM outputs WHERE version NOT LIKE 'mark:%' AND IFNULL(age, 0) < 2"
        yield from self._execute(f"{query} ORDER BY path, version, source")


def _output_row(command, path, fields):
    """Return path, version or mark, and source of the output that a line tells of, or None."""
    place, version = output_of(command, path), None
    if place is None:
        return None
    if fields["state"] == "begun" and fields["job"]:
        version = f"mark:{mark_of(fields['job'], place)}"
    elif fields["state"] in ("written", "done"):
        version = version_of(fields["output"]["size"], fields["output"]["etag"])
    return None if version is None else (os.fsencode(place), version, fields["source"] or "")
