"""The rights to a file: its owner, group, mode and POSIX ACL, as `oarlock encrypt` keeps them.

A file that replaces another gets its rights, as far as this process may give them. Where it may not, nobody gets more rights
than before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import struct
from typing import NamedTuple

_ACL = "system.posix_acl_access"
#: Values of include/uapi/linux/posix_acl_xattr.h and posix_acl.h.
_ACL_VERSION = 2
_HEAD = struct.Struct("<I")
_ENTRY = struct.Struct("<HHI")
_OWNER, _GROUP, _MASK, _OTHER = 0x01, 0x04, 0x10, 0x20
#: Errors of a file without an ACL, and of a file system without them.
_WITHOUT_ACL = (errno.ENODATA, errno.EOPNOTSUPP)


class Rights(NamedTuple):
    """The rights of users to a file."""

    uid: int
    gid: int
    #: The mode without set-user-ID, set-group-ID and sticky bits, which new content does not get.
    mode: int
    #: Tag, rights and id of each entry. None if there may be an ACL that this process cannot read.
    acl: list[tuple[int, int, int]] | None

    @classmethod
    def at(cls, path: str) -> Rights | None:
        """Read the rights of a regular file. Return None if there is no such file."""
        try:
            found = os.stat(path, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return cls(found.st_uid, found.st_gid, found.st_mode & 0o777, _acl(path))

    def grant(self, descriptor: int) -> None:
        """Give these rights to a file that this process has created, or fewer where it may not."""
        # At first the owner alone has rights. The ACL that the folder's default gave is removed, since a mode with group bits
        # would put it into effect.
        try:
            os.removexattr(descriptor, _ACL)
        except OSError as error:
            if error.errno not in _WITHOUT_ACL:
                raise
        os.fchmod(descriptor, 0o600)
        is_group = self._give_away(descriptor)
        mode = self.mode
        if self.acl is None:
            mode &= 0o700
        elif not self.acl:
            mode = mode if is_group else _without_group(mode)
        else:
            entries = self.acl if is_group else _without_group_entry(self.acl)
            try:
                os.setxattr(descriptor, _ACL, _HEAD.pack(_ACL_VERSION) + b"".join(_ENTRY.pack(*entry) for entry in entries))
                mode = _mode_of(entries)
            except OSError:
                # Without the ACL, no bit expresses what its entries did.
                mode &= 0o700
        # After the file was given away, this process may no longer change it.
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, mode)

    def _give_away(self, descriptor):
        """Set owner and group, as far as this process may. Return whether the group is set."""
        now = os.fstat(descriptor)
        if (now.st_uid, now.st_gid) != (self.uid, self.gid):
            try:
                os.fchown(descriptor, self.uid, self.gid)
            except OSError:
                with contextlib.suppress(OSError):
                    os.fchown(descriptor, -1, self.gid)
        return os.fstat(descriptor).st_gid == self.gid


def _acl(path):
    try:
        value = os.getxattr(path, _ACL, follow_symlinks=False)
    except OSError as error:
        return [] if error.errno in _WITHOUT_ACL else None
    entries = value[_HEAD.size :]
    if value[: _HEAD.size] != _HEAD.pack(_ACL_VERSION) or len(entries) % _ENTRY.size:
        return None
    return list(_ENTRY.iter_unpack(entries))


def _without_group(mode):
    """Return the mode for a file of another group.

    Its members were others before, and those of the old group are others now. Both get the rights that group and others had in
    common.
    """
    common = mode >> 3 & mode & 0o7
    return mode & 0o700 | common << 3 | common


def _of(entries, wanted, default):
    return next((rights for tag, rights, _ in entries if tag == wanted), default)


def _without_group_entry(entries):
    """Return an ACL for a file of another group.

    The group gets no rights, since an entry may exclude some of its members, and others keep only those that the old group had
    too.
    """
    group = _of(entries, _GROUP, 0) & _of(entries, _MASK, 0o7)
    kept = {_GROUP: 0, _OTHER: group}
    return [(tag, rights & kept.get(tag, 0o7), id) for tag, rights, id in entries]


def _mode_of(entries):
    group = _of(entries, _MASK, _of(entries, _GROUP, 0))
    return _of(entries, _OWNER, 0) << 6 | group << 3 | _of(entries, _OTHER, 0)
