"""The manifest: lines of JSON, which make a job resumable.

A line tells of one object: ``path``, ``size`` and ``etag`` of the source, ``state`` ("begun", "done" or "failed"), and for
"done" ``output`` with the size and ETag of the destination, and ``sha256`` of the plaintext if it was asked for.
``recipients`` names the line that lists them.

Anybody who can write to the destination can write the manifest. So it never names what is read or written: a job looks up
objects that it has listed itself, and believes a line only if the destination has the version that the line names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import threading
import time

from .objects import SUFFIX, JobError

LINE_BYTES_MAX = 64 << 10
_IGNORED_SHOWN_MAX = 10
_NAME_DIGITS = 12
#: A number that none can follow: names are as long as their order needs.
_NUMBER_MAX = 10**_NAME_DIGITS - 1
_NAME = re.compile(rf"manifest-([0-9]{{{_NAME_DIGITS}}})(?:-([0-9]{{1,18}}))?\.jsonl")
_STATES = ("begun", "done", "failed")
_FLUSH_BYTES = 1 << 20
_FLUSH_SECONDS = 10


class Manifest:
    def __init__(self, command, target, path=None, is_written=True):
        self._command = command
        self._target = target
        self._path = path
        self._number = 0
        self._lines = bytearray()
        self._flushed = time.monotonic()
        self._recipients = set()
        self._is_written = is_written
        #: Lines that were not understood: how many, and what was wrong with the first of them.
        self.ignored_count = 0
        self.ignored = []
        # A file without a name, which holds what the memory should not.
        self._known = sqlite3.connect("", check_same_thread=False)
        self._known.execute("CREATE TABLE known (path BLOB PRIMARY KEY, line TEXT) WITHOUT ROWID")
        self._mutex = threading.Lock()
        self._load()

    def known(self, path):
        """Return the last line of an object, or None."""
        query = "SELECT line FROM known WHERE path = ?"
        with self._mutex:
            row = self._known.execute(query, (os.fsencode(path),)).fetchone()
        return json.loads(row[0]) if row else None

    def add(self, entry, state, recipients=(), keep=False, **more):
        """Add the line of an object. It is durable after flush."""
        lines = []
        line = {"command": self._command, "path": entry.path, "size": entry.size, "etag": entry.etag, "state": state}
        with self._mutex:
            if recipients:
                line["recipients"] = recipients_name(recipients, keep)
                if line["recipients"] not in self._recipients:
                    self._recipients.add(line["recipients"])
                    lines.append({"recipients": line["recipients"], "list": sorted(recipients)})
            lines.append({**line, **more})
            for one in lines:
                self._lines += json.dumps(one).encode() + b"\n"
            is_due = len(self._lines) >= _FLUSH_BYTES or time.monotonic() > self._flushed + _FLUSH_SECONDS
        if is_due:
            self.flush()

    def flush(self):
        with self._mutex:
            data, self._lines = self._lines, bytearray()
            self._flushed = time.monotonic()
            if not data or not self._is_written:
                return
            if self._path is None:
                self._target.append_manifest(f"{self._number + 1:0{_NAME_DIGITS}}", data)
            else:
                with open(self._path, "a+b") as file:
                    if file.tell() and os.pread(file.fileno(), 1, file.tell() - 1) != b"\n":
                        # The last line of a job that was killed.
                        file.write(b"\n")
                    file.write(data)

    def close(self):
        self.flush()
        self._known.close()

    def _load(self):
        for _, pieces in _own_file(self._path) if self._path is not None else self._in_order():
            for number, line in enumerate(_lines(pieces), 1):
                try:
                    self._take(*_checked(line))
                except ValueError as error:
                    self._ignore(f"line {number}: {error}")
        self._known.commit()

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

    def _ignore(self, reason):
        self.ignored_count += 1
        if self.ignored_count <= _IGNORED_SHOWN_MAX:
            self.ignored.append(reason)

    def _take(self, command, path, fields):
        if command == "rotate" and self._command == "encrypt":
            # What was encrypted has another header since, if it was rotated in place.
            path = path.removesuffix(SUFFIX)
            known = self.known(path)
            if known is None or fields["state"] != "done":
                return
            fields = {**known, "output": fields["output"], "recipients": fields["recipients"]}
        elif command != self._command:
            return
        try:
            row = (os.fsencode(path), json.dumps(fields))
        except UnicodeEncodeError:
            raise ValueError("the path has no bytes") from None
        self._known.execute("INSERT OR REPLACE INTO known VALUES (?, ?)", row)


def recipients_name(recipients, keep=False):
    """Return a short name of a set of recipients: all of an object, or those that were added."""
    name = hashlib.sha256("\n".join(sorted(recipients)).encode()).hexdigest()[:16]
    return f"+{name}" if keep else name


def _own_file(path):
    try:
        with open(path, "rb", buffering=0) as file:
            yield "", iter(lambda: file.read(1 << 20), b"")
    except FileNotFoundError:
        return


def _lines(pieces):
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


def _checked(line):
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
        return None, "", {}
    path, output = fields.get("path"), fields.get("output", {})
    if not isinstance(path, str) or not path:
        raise ValueError("no path")
    if fields.get("state") not in _STATES:
        raise ValueError("no known state")
    if not isinstance(output, dict):
        raise ValueError("the output is not an object of JSON")
    kept = {key: fields.get(key) for key in ("size", "etag", "state", "recipients", "sha256", "header")}
    kept["output"] = {key: output.get(key) for key in ("size", "etag")}
    return fields.get("command"), path, kept
