//! The module with two tokens: one that needs no login, and one with a PIN. Each has a key of each type.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use cryptoki_sys::*;
use oarlock::keys::{KeyType, PrivateKey};

/// The tokens' slots are 0 and 1.
pub(super) const TOKENS: usize = 2;
/// The token with a PIN.
pub(super) const LOCKED: usize = 1;
pub(super) const PIN: &[u8] = b"1234";
const KEYS: [&str; 5] = ["RSA", "P-256", "P-521", "Ed25519", "ML-DSA-44"];

/// The two halves of a key, and a mechanism that signs with it and has no parameter.
pub(super) struct Pair {
    pub(super) token: usize,
    id: Vec<u8>,
    /// The handle of the private key, which ends with the login if the token has a PIN.
    pub(super) private: CK_OBJECT_HANDLE,
    pub(super) public: CK_OBJECT_HANDLE,
    pub(super) mechanism: CK_MECHANISM_TYPE,
}

pub(super) struct Module {
    pub(super) list: &'static CK_FUNCTION_LIST,
    pub(super) pairs: Vec<Pair>,
}

/// Calls a function of the module.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the pointers are to memory of the caller's, with the lengths that it gives.
        unsafe { (MODULE.list.$name.unwrap())($($argument),*) }
    };
}
pub(super) use call;

pub(super) static MODULE: LazyLock<Module> = LazyLock::new(|| {
    let folder = keys();
    let list = oarlock_pkcs11::functions_with(folder.join("pkcs11.toml"));
    let mut arguments = CK_C_INITIALIZE_ARGS {
        CreateMutex: None,
        DestroyMutex: None,
        LockMutex: None,
        UnlockMutex: None,
        flags: CKF_LIBRARY_CANT_CREATE_OS_THREADS,
        pReserved: std::ptr::null_mut(),
    };
    // SAFETY: the arguments live until the call ends.
    let begun = unsafe { list.C_Initialize.unwrap()((&raw mut arguments).cast()) };
    assert_eq!(begun, CKR_OK);
    let pairs = (0..TOKENS).flat_map(|token| pairs(list, token)).collect();
    Module { list, pairs }
});

impl Module {
    /// Returns the handle of each private key, now that a user has logged in by `session`. `earlier` are those before.
    pub(super) fn private_of(
        &self,
        session: CK_SESSION_HANDLE,
        earlier: &[CK_OBJECT_HANDLE],
    ) -> Vec<CK_OBJECT_HANDLE> {
        let found = found(self.list, session, CKO_PRIVATE_KEY);
        let pairs = self.pairs.iter().zip(earlier);
        let now = pairs.map(|(pair, earlier)| {
            let of_pair = found.iter().find(|it| it.0 == pair.id);
            of_pair.map_or(*earlier, |(_, handle, _)| *handle)
        });
        now.collect()
    }
}

/// Makes the files of the tokens, once for all runs in this place.
fn keys() -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let folder = target.join("fuzz-token");
    let names = ["keys-0", "keys-1"];
    let section = |(token, pin): (usize, &str)| {
        let place = folder.join(names[token]);
        format!("[[token]]\nlabel = \"{token}\"\nkeys = {place:?}\n{pin}\n")
    };
    let text: String = [(0, ""), (LOCKED, "pin = \"1234\"")].map(section).concat();
    let kept = fs::read_to_string(folder.join("pkcs11.toml"));
    if kept.is_ok_and(|kept| kept == text) {
        return folder;
    }
    let new = target.join(format!("fuzz-token-{}", std::process::id()));
    for name in names {
        fs::create_dir_all(new.join(name)).unwrap();
        for kind in KEYS {
            let key = PrivateKey::generate(KeyType::named(kind).unwrap()).unwrap();
            let file = new.join(name).join(format!("{kind}.pem"));
            fs::write(file, key.to_pkcs8_pem().unwrap()).unwrap();
        }
    }
    fs::write(new.join("pkcs11.toml"), text).unwrap();
    // Those of a checkout that was moved name another place.
    let _ = fs::remove_dir_all(&folder);
    // Another process may have been faster.
    if fs::rename(&new, &folder).is_err() {
        fs::remove_dir_all(&new).unwrap();
    }
    folder
}

/// Finds the keys of a token.
fn pairs(list: &CK_FUNCTION_LIST, token: usize) -> Vec<Pair> {
    let mut session = 0;
    let flags = CKF_SERIAL_SESSION;
    let slot = token as CK_SLOT_ID;
    // SAFETY: no pointer but those to places of ours.
    unsafe {
        let open = list.C_OpenSession.unwrap();
        assert_eq!(
            open(slot, flags, std::ptr::null_mut(), None, &raw mut session),
            CKR_OK
        );
        list.C_Login.unwrap()(
            session,
            CKU_USER,
            PIN.as_ptr().cast_mut(),
            PIN.len() as CK_ULONG,
        );
    }
    let private = found(list, session, CKO_PRIVATE_KEY);
    let public = found(list, session, CKO_PUBLIC_KEY);
    // SAFETY: the session is open.
    assert_eq!(unsafe { list.C_CloseSession.unwrap()(session) }, CKR_OK);
    let mechanism = |kind| match kind {
        CKK_RSA => CKM_SHA256_RSA_PKCS,
        CKK_EC => CKM_ECDSA_SHA256,
        CKK_EC_EDWARDS => CKM_EDDSA,
        _ => CKM_ML_DSA,
    };
    let pairs: Vec<_> = private
        .iter()
        .map(|(id, handle, kind)| Pair {
            token,
            id: id.clone(),
            private: *handle,
            public: public.iter().find(|it| it.0 == *id).unwrap().1,
            mechanism: mechanism(*kind),
        })
        .collect();
    assert_eq!(pairs.len(), KEYS.len());
    pairs
}

/// Returns the ID, handle and type of each object of a class.
fn found(
    list: &CK_FUNCTION_LIST,
    session: CK_SESSION_HANDLE,
    mut class: CK_OBJECT_CLASS,
) -> Vec<(Vec<u8>, CK_OBJECT_HANDLE, CK_KEY_TYPE)> {
    let long = size_of::<CK_ULONG>() as CK_ULONG;
    let mut template = attribute(CKA_CLASS, (&raw mut class).cast(), long);
    let (mut handles, mut count) = ([0; 32], 0);
    // SAFETY: all places are ours, with their lengths.
    unsafe {
        assert_eq!(
            list.C_FindObjectsInit.unwrap()(session, &raw mut template, 1),
            CKR_OK
        );
        let find = list.C_FindObjects.unwrap();
        assert_eq!(
            find(session, handles.as_mut_ptr(), 32, &raw mut count),
            CKR_OK
        );
        assert_eq!(list.C_FindObjectsFinal.unwrap()(session), CKR_OK);
    }
    let of = |handle: CK_OBJECT_HANDLE| {
        let (mut id, mut kind) = ([0; 64], 0);
        let mut wanted = [
            attribute(CKA_ID, id.as_mut_ptr(), 64),
            attribute(CKA_KEY_TYPE, (&raw mut kind).cast(), long),
        ];
        let get = list.C_GetAttributeValue.unwrap();
        // SAFETY: both attributes have places of the lengths that they name, which outlive the call.
        let got = unsafe { get(session, handle, wanted.as_mut_ptr(), 2) };
        assert_eq!(got, CKR_OK);
        (id[..wanted[0].ulValueLen as usize].to_vec(), handle, kind)
    };
    handles[..count as usize]
        .iter()
        .map(|handle| of(*handle))
        .collect()
}

pub(super) fn attribute(kind: CK_ATTRIBUTE_TYPE, value: *mut u8, bytes: CK_ULONG) -> CK_ATTRIBUTE {
    CK_ATTRIBUTE {
        type_: kind,
        pValue: value.cast(),
        ulValueLen: bytes,
    }
}
