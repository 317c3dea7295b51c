"""Names that a destination takes for one: stores that do not tell letter case apart."""

from __future__ import annotations

import os
import sqlite3
import unicodedata


class FoldedNames:
    """The names of a job's objects, as such a store compares them."""

    def __init__(self):
        # A file without a name, which holds what the memory should not.
        self._names = sqlite3.connect("", check_same_thread=False)
        self._names.execute("CREATE TABLE names (folded BLOB PRIMARY KEY, path BLOB) WITHOUT ROWID")

    def claim(self, path):
        """Return the other path that has the name already, or None."""
        folded, own = os.fsencode(fold(path)), os.fsencode(path)
        self._names.execute("INSERT OR IGNORE INTO names VALUES (?, ?)", (folded, own))
        (first,) = self._names.execute("SELECT path FROM names WHERE folded = ?", (folded,)).fetchone()
        return None if first == own else os.fsdecode(first)

    def close(self):
        self._names.close()


def fold(path):
    """Return a path without letter case, and with accents in one form, as APFS and ext4 compare names."""
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())
