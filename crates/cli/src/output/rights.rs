//! The rights to a file: its owner, group, mode and POSIX ACL. A file that replaces another gets its rights, as far as this
//! process may give them. Where it may not, nobody gets more rights than before.
//!
//! ```text
//! acl(5), as stored in system.posix_acl_access   version 2, and for each entry: tag, rights, id
//! group bits of the mode                         those of the owning group, or with an ACL those of the mask
//! ```

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

use rustix::fs::{OFlags, XattrFlags, fgetxattr, fremovexattr, fsetxattr, getxattr};
use rustix::io::Errno;

use crate::folder::{Place, kind};

/// The rights of users to a file.
#[derive(Clone)]
pub(crate) struct Rights {
    uid: u32,
    gid: u32,
    /// The mode without set-user-ID, set-group-ID and sticky bits, which new content does not get.
    mode: u32,
    acl: Acl,
}

#[derive(Clone)]
enum Acl {
    None,
    Entries(Vec<Entry>),
    /// There may be an ACL that this process cannot read.
    Unknown,
}

#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    rights: u16,
    id: u32,
}

impl Rights {
    /// Reads the rights of the regular file at `place`. Returns `None` if there is no such file.
    pub(crate) fn at(place: &Place) -> io::Result<Option<Self>> {
        let found = match place.look() {
            Ok(found) if kind(&found).is_file() => found,
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            uid: found.st_uid,
            gid: found.st_gid,
            mode: found.st_mode & 0o777,
            acl: Acl::at(place),
        }))
    }

    /// Reads the rights of an open file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            uid: metadata.uid(),
            gid: metadata.gid(),
            mode: metadata.mode() & 0o777,
            acl: Acl::read(|value| fgetxattr(file, ACL, value)),
        })
    }

    /// Gives these rights to `file`, which this process created. Returns whether it could give all of them; if not, the file
    /// has fewer.
    pub(crate) fn grant(&self, file: &File) -> io::Result<bool> {
        // At first the owner alone has rights. The ACL that the folder's default gave is removed, since a mode with group
        // bits would put it into effect.
        match fremovexattr(file, ACL) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP) => {}
            Err(error) => return Err(error.into()),
        }
        file.set_permissions(Permissions::from_mode(0o600))?;
        let (is_owner, is_group) = self.give_away(file)?;
        let mut mode = self.mode;
        let mut is_all = is_owner && is_group;
        match &self.acl {
            Acl::None if is_group => {}
            Acl::None => mode = without_group(mode),
            Acl::Unknown => {
                mode &= OWNER;
                is_all = false;
            }
            Acl::Entries(entries) => {
                let mut entries = entries.clone();
                if !is_group {
                    drop_group(&mut entries);
                }
                match fsetxattr(file, ACL, &encoded(&entries), XattrFlags::empty()) {
                    Ok(()) => mode = mode_of(&entries),
                    // Without the ACL, no bit expresses what its entries did.
                    Err(_) => {
                        mode &= OWNER;
                        is_all = false;
                    }
                }
            }
        }
        match file.set_permissions(Permissions::from_mode(mode)) {
            Ok(()) => Ok(is_all),
            // The file was given away, and this process may no longer change it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sets owner and group of the file, as far as this process may. Returns whether each is set.
    fn give_away(&self, file: &File) -> io::Result<(bool, bool)> {
        let is_it = || -> io::Result<_> {
            let now = file.metadata()?;
            Ok((now.uid() == self.uid, now.gid() == self.gid))
        };
        if is_it()? == (true, true) || fchown(file, Some(self.uid), Some(self.gid)).is_ok() {
            return Ok((true, true));
        }
        let _ = fchown(file, None, Some(self.gid));
        is_it()
    }
}

impl Acl {
    fn at(place: &Place) -> Self {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW;
        if let Ok(file) = place.folder.open_file(&place.name, flags) {
            return Self::read(|value| fgetxattr(&file, ACL, value));
        }
        // The file may be writable but not readable. Its attributes need neither right.
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let Ok(file) = place.folder.open_file(&place.name, flags) else {
            return Self::Unknown;
        };
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Self::read(|value| getxattr(&path, ACL, value))
    }

    fn read(get: impl FnOnce(&mut [u8]) -> rustix::io::Result<usize>) -> Self {
        let mut value = vec![0; ACL_BYTES_MAX];
        match get(&mut value) {
            Ok(bytes) => decoded(&value[..bytes]).map_or(Self::Unknown, Self::Entries),
            Err(Errno::NODATA | Errno::OPNOTSUPP) => Self::None,
            Err(_) => Self::Unknown,
        }
    }
}

/// Returns the mode for a file of another group. Its members were others before, and those of the old group are others now.
/// Both get the rights that group and others had in common.
fn without_group(mode: u32) -> u32 {
    let common = mode >> 3 & mode & 0o7;
    mode & OWNER | common << 3 | common
}

/// Adapts an ACL to another group. The group gets no rights, since an entry may exclude some of its members, and others keep
/// only those that the old group had too.
fn drop_group(entries: &mut [Entry]) {
    let of = |tag| entries.iter().find(|entry| entry.tag == tag);
    let mask = of(TAG_MASK).map_or(0o7, |entry| entry.rights);
    let group = of(TAG_GROUP).map_or(0, |entry| entry.rights) & mask;
    for entry in entries {
        match entry.tag {
            TAG_GROUP => entry.rights = 0,
            TAG_OTHER => entry.rights &= group,
            _ => {}
        }
    }
}

/// Returns the mode that corresponds to an ACL.
fn mode_of(entries: &[Entry]) -> u32 {
    let of = |tag| entries.iter().find(|entry| entry.tag == tag);
    let rights = |tag| of(tag).map_or(0, |entry| u32::from(entry.rights));
    let group = match of(TAG_MASK) {
        Some(_) => rights(TAG_MASK),
        None => rights(TAG_GROUP),
    };
    rights(TAG_OWNER) << 6 | group << 3 | rights(TAG_OTHER)
}

fn decoded(value: &[u8]) -> Option<Vec<Entry>> {
    let (version, entries) = value.split_first_chunk()?;
    let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
    if *version != ACL_VERSION.to_le_bytes() || !rest.is_empty() {
        return None;
    }
    let entry = |&[t0, t1, r0, r1, i0, i1, i2, i3]: &[u8; ENTRY_BYTES]| Entry {
        tag: u16::from_le_bytes([t0, t1]),
        rights: u16::from_le_bytes([r0, r1]),
        id: u32::from_le_bytes([i0, i1, i2, i3]),
    };
    Some(entries.iter().map(entry).collect())
}

fn encoded(entries: &[Entry]) -> Vec<u8> {
    let mut value = ACL_VERSION.to_le_bytes().to_vec();
    for Entry { tag, rights, id } in entries {
        value.extend(tag.to_le_bytes());
        value.extend(rights.to_le_bytes());
        value.extend(id.to_le_bytes());
    }
    value
}

const OWNER: u32 = 0o700;
/// Values of include/uapi/linux/posix_acl_xattr.h and posix_acl.h.
const ACL: &str = "system.posix_acl_access";
const ACL_VERSION: u32 = 2;
const ENTRY_BYTES: usize = 8;
const TAG_OWNER: u16 = 0x01;
const TAG_GROUP: u16 = 0x04;
const TAG_MASK: u16 = 0x10;
const TAG_OTHER: u16 = 0x20;
/// The kernel's XATTR_SIZE_MAX.
const ACL_BYTES_MAX: usize = 64 << 10;
