//! The rights to a key's file, which a rotation keeps.

use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{XattrFlags, fremovexattr, fsetxattr, getxattr};
use rustix::io::Errno;

/// The owner, the group, the mode and the access control list of a file.
pub(super) struct Rights {
    uid: u32,
    gid: u32,
    mode: u32,
    acl: Option<Vec<u8>>,
}

/// A function that gives a file to a user or a group.
pub(super) type Chown<'a> = dyn Fn(&File, Option<u32>, Option<u32>) -> io::Result<()> + 'a;

impl Rights {
    /// Returns the rights of a file.
    ///
    /// # Errors
    /// The attribute that cannot be read.
    pub(super) fn of(path: &Path, metadata: &Metadata) -> Result<Self, String> {
        let mut acl = vec![0; ACL_BYTES_MAX];
        let acl = match getxattr(path, ACL, &mut acl[..]) {
            Ok(bytes) => {
                acl.truncate(bytes);
                Some(acl)
            }
            Err(Errno::NODATA | Errno::OPNOTSUPP) => None,
            Err(error) => return Err(format!("its access control list cannot be read: {error}")),
        };
        Ok(Self {
            uid: metadata.uid(),
            gid: metadata.gid(),
            mode: metadata.mode() & PERMISSIONS,
            acl,
        })
    }

    /// Gives them to a new file, which only its owner may read so far. A file of root's that only a group shares with the
    /// server becomes the server's own, since root reads it nevertheless.
    ///
    /// # Errors
    /// The right that someone would lose, or gain.
    pub(super) fn give(&self, file: &File, chown: &Chown<'_>) -> Result<(), String> {
        let made = file.metadata().map_err(|error| error.to_string())?;
        let is_grouped = made.gid() == self.gid || chown(file, None, Some(self.gid)).is_ok();
        if !is_grouped && self.mode & GROUP != 0 {
            return Err(format!(
                "its file is open to group {}, which this server cannot give to the new one",
                self.gid
            ));
        }
        let list = match &self.acl {
            Some(acl) => fsetxattr(file, ACL, acl, XattrFlags::empty()),
            // One that the directory gives to new files.
            None => match fremovexattr(file, ACL) {
                Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(()),
                removed => removed,
            },
        };
        list.map_err(|error| format!("its access control list cannot be kept: {error}"))?;
        let set = |mode| {
            let set = file.set_permissions(Permissions::from_mode(mode));
            set.map_err(|error| format!("its mode cannot be kept: {error}"))
        };
        set(self.mode)?;
        if made.uid() == self.uid || chown(file, Some(self.uid), None).is_ok() {
            return Ok(());
        }
        match self.uid {
            ROOT => set(self.mode | OWNER_READS),
            uid => Err(format!(
                "its file belongs to user {uid}, who might be unable to read the new one"
            )),
        }
    }
}

/// Access control lists of POSIX, in the form that Linux gives them in extended attributes.
const ACL: &str = "system.posix_acl_access";
/// The longest extended attribute.
const ACL_BYTES_MAX: usize = 1 << 16;
const PERMISSIONS: u32 = 0o777;
const OWNER_READS: u32 = 0o400;
/// The group's permissions, or the mask of an access control list.
const GROUP: u32 = 0o070;
const ROOT: u32 = 0;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    fn file() -> (tempfile::TempDir, std::path::PathBuf, File) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new");
        let file = File::create(&path).unwrap();
        file.set_permissions(Permissions::from_mode(0o600)).unwrap();
        (folder, path, file)
    }

    fn no_chown(_: &File, _: Option<u32>, _: Option<u32>) -> io::Result<()> {
        Err(io::ErrorKind::PermissionDenied.into())
    }

    #[test]
    fn nobody_loses_or_gains_a_right() {
        let (_folder, path, file) = file();
        let own = Rights::of(&path, &file.metadata().unwrap()).unwrap();
        let of = |uid, gid, mode| Rights {
            uid,
            gid,
            mode,
            acl: None,
        };
        let (uid, gid) = (own.uid, own.gid);
        let other = 12_345;
        let mode = || file.metadata().unwrap().mode() & PERMISSIONS;
        // Its own, its own with a group that has no right, and one of root's.
        of(uid, gid, 0o640).give(&file, &no_chown).unwrap();
        assert_eq!(mode(), 0o640);
        of(uid, other, 0o604).give(&file, &no_chown).unwrap();
        assert_eq!(mode(), 0o604);
        of(ROOT, gid, 0o440).give(&file, &no_chown).unwrap();
        assert_eq!(mode(), 0o440);
        let refused = |rights: Rights| rights.give(&file, &no_chown).unwrap_err();
        assert!(refused(of(uid, other, 0o640)).contains("group 12345"));
        assert!(refused(of(other, gid, 0o640)).contains("user 12345"));
        assert!(refused(of(other, gid, 0o644)).contains("user 12345"));
    }

    #[test]
    fn an_access_control_list_is_kept_and_none_is_inherited() {
        let (_folder, path, file) = file();
        // Version 2; tag, rights and ID of the owner, of user 1234, of the group, the mask and of others.
        let entries = [
            (1, 6, u32::MAX),
            (2, 4, 1234),
            (4, 0, u32::MAX),
            (16, 4, u32::MAX),
            (32, 0, u32::MAX),
        ];
        let mut acl = 2_u32.to_le_bytes().to_vec();
        for (tag, rights, id) in entries {
            acl.extend(u16::to_le_bytes(tag));
            acl.extend(u16::to_le_bytes(rights));
            acl.extend(u32::to_le_bytes(id));
        }
        let set = fsetxattr(&file, ACL, &acl, XattrFlags::empty());
        if set == Err(Errno::OPNOTSUPP) {
            println!("skipped: the file system has no access control lists");
            return;
        }
        set.unwrap();
        let listed = Rights::of(&path, &file.metadata().unwrap()).unwrap();
        assert_eq!(listed.acl.as_ref(), Some(&acl));
        let new = path.with_extension("new");
        let made = File::create(&new).unwrap();
        listed.give(&made, &no_chown).unwrap();
        let again = Rights::of(&new, &made.metadata().unwrap()).unwrap();
        assert_eq!((again.acl, again.mode), (Some(acl), 0o640));
        let unlisted = Rights {
            acl: None,
            ..listed
        };
        unlisted.give(&made, &no_chown).unwrap();
        let metadata = fs::metadata(&new).unwrap();
        assert!(Rights::of(&new, &metadata).unwrap().acl.is_none());
    }
}
