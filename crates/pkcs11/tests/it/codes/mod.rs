//! The numbers that calls return.
//!
//! `life.rs`: initialization, the end, threads and forks. `calls.rs`: arguments, handles and order. `objects.rs`: attributes,
//! PINs, and keys that change.

use std::ptr::null_mut;

use cryptoki_sys::*;
use libloading::Library;

use crate::common::{Home, module};

/// Calls a function of the module, and returns its number.
macro_rules! call {
    ($module:expr, $name:ident $(, $argument:expr)* $(,)?) => {
        // SAFETY: the arguments are NULL, or memory of this test with its length.
        unsafe { ($module.list().$name.unwrap())($($argument),*) }
    };
}

mod calls;
mod life;
mod objects;

/// The module, by its list of functions.
struct Module(&'static CK_FUNCTION_LIST_3_0);

impl Module {
    fn list(&self) -> &CK_FUNCTION_LIST_3_0 {
        self.0
    }

    fn loaded() -> Self {
        // SAFETY: the module may be loaded, and stays so.
        let library = unsafe { Library::new(module()) }.unwrap();
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: the function of the standard.
        let get: CK_C_GetInterface = unsafe { *library.get(b"C_GetInterface").unwrap() };
        let mut interface = null_mut();
        let mut version = CK_VERSION { major: 3, minor: 0 };
        let name = c"PKCS 11".as_ptr().cast_mut().cast();
        // SAFETY: a name, a version and a place for the result.
        let code = unsafe { get.unwrap()(name, &mut version, &mut interface, 0) };
        assert_eq!(code, CKR_OK);
        // SAFETY: the interface of this version has a list of this version.
        Self(unsafe { &*(*interface).pFunctionList.cast() })
    }

    fn initialized() -> Self {
        let module = Self::loaded();
        assert_eq!(call!(module, C_Initialize, null_mut()), CKR_OK);
        module
    }

    fn session(&self, slot: CK_SLOT_ID) -> CK_SESSION_HANDLE {
        let (mut session, flags) = (0, CKF_SERIAL_SESSION);
        let code = call!(
            self,
            C_OpenSession,
            slot,
            flags,
            null_mut(),
            None,
            &mut session
        );
        assert_eq!(code, CKR_OK);
        assert_ne!(session, 0);
        session
    }

    fn object(
        &self,
        session: CK_SESSION_HANDLE,
        class: CK_OBJECT_CLASS,
        label: &str,
    ) -> CK_OBJECT_HANDLE {
        let mut template = [
            number(CKA_CLASS, &class),
            bytes(CKA_LABEL, label.as_bytes()),
        ];
        assert_eq!(
            call!(self, C_FindObjectsInit, session, template.as_mut_ptr(), 2),
            CKR_OK
        );
        let (mut handles, mut count) = ([0; 2], 0);
        assert_eq!(
            call!(
                self,
                C_FindObjects,
                session,
                handles.as_mut_ptr(),
                2,
                &mut count
            ),
            CKR_OK
        );
        assert_eq!(call!(self, C_FindObjectsFinal, session), CKR_OK);
        assert_eq!(count, 1, "{label}");
        handles[0]
    }

    fn sign(
        &self,
        session: CK_SESSION_HANDLE,
        key: CK_OBJECT_HANDLE,
        kind: CK_MECHANISM_TYPE,
    ) -> CK_RV {
        let code = self.sign_init(session, key, kind);
        if code != CKR_OK {
            return code;
        }
        let (mut data, mut out, mut length) = (*b"message", [0; 5000], 5000);
        let (data, out) = (data.as_mut_ptr(), out.as_mut_ptr());
        call!(self, C_Sign, session, data, 7, out, &mut length)
    }

    fn sign_init(
        &self,
        session: CK_SESSION_HANDLE,
        key: CK_OBJECT_HANDLE,
        kind: CK_MECHANISM_TYPE,
    ) -> CK_RV {
        call!(self, C_SignInit, session, &mut mechanism(kind), key)
    }
}

fn mechanism(kind: CK_MECHANISM_TYPE) -> CK_MECHANISM {
    CK_MECHANISM {
        mechanism: kind,
        pParameter: null_mut(),
        ulParameterLen: 0,
    }
}

fn number(kind: CK_ATTRIBUTE_TYPE, value: &CK_ULONG) -> CK_ATTRIBUTE {
    CK_ATTRIBUTE {
        type_: kind,
        pValue: std::ptr::from_ref(value).cast_mut().cast(),
        ulValueLen: 8,
    }
}

fn bytes(kind: CK_ATTRIBUTE_TYPE, value: &[u8]) -> CK_ATTRIBUTE {
    CK_ATTRIBUTE {
        type_: kind,
        pValue: value.as_ptr().cast_mut().cast(),
        ulValueLen: value.len() as CK_ULONG,
    }
}

fn few() -> Home {
    Home::with(&["rsa", "p256", "ed25519"])
}
