"""A snapshot: what manifests say, in as few lines.

It holds the lines that decide what a reader takes from the manifests, whatever its command and source: the last line of an
object by each command, the rotations in place since it was encrypted, and the live marks. They stay as they were written and in
their order, so that reading the manifests and then the snapshot tells the same as either alone. A version of the destination
that none of these lines names gets a line of its own, of the state "written", unless two others have replaced it since: an
object that is encrypted again each day would have a line for each day.
"""

from __future__ import annotations

import json
import os
import sqlite3

from .lines import ADDED_MAX, Outputs, checked
from .objects import SUFFIX, mark_of, output_of


class Snapshot:
    def __init__(self, target_name):
        # A file without a name, which holds what the memory should not.
        self._live = sqlite3.connect("")
        columns = "kind TEXT, path BLOB, detail TEXT, number INTEGER, line BLOB, PRIMARY KEY (kind, path, detail)"
        self._live.execute(f"CREATE TABLE live ({columns}) WITHOUT ROWID")
        self._live.execute("CREATE TABLE sources (line BLOB PRIMARY KEY) WITHOUT ROWID")
        self._outputs = Outputs(self._live, target_name)
        self._number = 0

    def close(self):
        self._live.close()

    def take(self, line):
        """Take a line. Raises ValueError if no reader understands it."""
        command, path, fields = checked(line)
        if command is None:
            # The caller knows the lists of recipients.
            if isinstance(fields.get("source"), str):
                self._live.execute("INSERT OR IGNORE INTO sources VALUES (?)", (line,))
            return
        self._number += 1
        name, state = path.removesuffix(SUFFIX), fields["state"]
        is_in_place = self._outputs.take(command, path, fields)
        place = output_of(command, path)
        if place is not None:
            if state == "done":
                self._outputs.replace(command, path, fields)
                self._drop("begun", place)
            elif state == "begun" and fields["job"]:
                mark, ours = f"mark:{mark_of(fields['job'], place)}", fields["source"] or ""
                for source in self._outputs.sources(place, mark):
                    # A rotation in place has given the mark to the sources of the earlier version too.
                    text = line if source == ours else json.dumps({**json.loads(line), "source": source or None}).encode()
                    self._keep("begun", place, f"{mark} {source}", text)
        if state == "written":
            # Also of a line that an earlier snapshot has, after manifests that it is of.
            self._outputs.age(command, path, fields, 1 if json.loads(line).get("replaced") is True else None)
            return
        if command == "rotate" and is_in_place and state == "done" and self._has("known", name, "encrypt"):
            added = fields["recipients"] if (fields["recipients"] or "").startswith("+") else ""
            if not added:
                self._drop("added", name)
            self._keep("added", name, added, line)
            mine = "kind = 'added' AND path = ?1 AND detail <> ''"
            over = f"SELECT number FROM live WHERE {mine} ORDER BY number DESC LIMIT -1 OFFSET ?2"
            self._live.execute(f"DELETE FROM live WHERE {mine} AND number IN ({over})", (os.fsencode(name), ADDED_MAX))
        if command == "encrypt":
            self._drop("added", path)
        self._keep("known", path, command, line)

    def _keep(self, kind, path, detail, line):
        row = (kind, os.fsencode(path), detail, self._number, line)
        self._live.execute("INSERT OR REPLACE INTO live VALUES (?, ?, ?, ?, ?)", row)

    def _drop(self, kind, path):
        self._live.execute("DELETE FROM live WHERE kind = ? AND path = ?", (kind, os.fsencode(path)))

    def _has(self, kind, path, detail):
        query = "SELECT 1 FROM live WHERE kind = ? AND path = ? AND detail = ?"
        return self._live.execute(query, (kind, os.fsencode(path), detail)).fetchone() is not None

    def lines(self):
        """Yield the lines, without their ends. Once."""
        for (line,) in self._live.execute("SELECT line FROM sources ORDER BY line"):
            yield line
        self._live.execute("CREATE INDEX in_order ON live (number, kind)")
        last = None
        # One line may be of two kinds. The line that an object is known by comes after others of its number.
        for number, line, kind in self._live.execute("SELECT number, line, kind FROM live ORDER BY number, kind"):
            if (number, line) != last:
                last = number, line
                yield self._settled(line, kind == "begun")
        for path, version, source, age in self._outputs.rest():
            size, _, etag = version.partition(":")
            entry = {"command": "decrypt", "path": os.fsdecode(path) + SUFFIX, "state": "written", "source": source or None}
            entry.update({"replaced": True} if age else {})
            yield json.dumps({**entry, "output": {"size": int(size), "etag": etag}}).encode()

    def _settled(self, line, has_mark):
        """Return a line that is kept. What it tells of an output needs no other line."""
        command, path, fields = checked(line)
        self._outputs.leave(command, path, fields)
        if fields["state"] == "begun" and fields["job"] and not has_mark:
            # A later line has ended the mark, or left it once more.
            line = json.dumps({**json.loads(line), "job": None}).encode()
        return line
