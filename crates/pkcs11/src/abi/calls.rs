//! The functions.

use std::ffi::c_void;
use std::sync::Arc;

use cryptoki_sys::*;
use oarlock_engine::fill_random;
use zeroize::{Zeroize as _, Zeroizing};

use crate::config::PIN_BYTES_MAX;
use crate::library::Library;
use crate::mechanisms;
use crate::pointers::{
    Room, fill_list, guarded, input, mechanism, padded, place, show, template, value,
};
use crate::process::{self, library};
use crate::session::{SESSIONS_MAX, Session};

type Bytes = *mut CK_BYTE;
type Length = *mut CK_ULONG;
type Key = CK_OBJECT_HANDLE;
type Handle = CK_SESSION_HANDLE;

/// Makes the functions of a list.
macro_rules! functions {
    ($($name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)+) => {
        $(
            /// A function of the standard.
            ///
            /// # Safety
            /// Each pointer is NULL, or to memory of the program as the standard says, and no one else uses that during
            /// the call.
            // Some get no pointer.
            #[allow(non_snake_case, unused_unsafe)]
            pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> CK_RV {
                // SAFETY: the pointers are passed on as the program gave them, with the lengths that it gave with them.
                guarded(|| unsafe { $body })
            }
        )+
    };
}

/// Makes the functions that this module does not have.
macro_rules! absent {
    ($($name:ident($($type:ty),* $(,)?) $code:ident)+) => {
        $(
            /// A function of the standard that this module does not have.
            ///
            /// # Safety
            /// Any arguments will do: it looks at none.
            #[allow(non_snake_case)]
            pub(super) unsafe extern "C" fn $name($(_: $type),*) -> CK_RV {
                guarded(|| {
                    library()?;
                    Err($code)
                })
            }
        )+
    };
}

/// Returns a copy of a message or ciphertext of RSA, since the result may go where it is. What is too long stays too long.
fn kept(data: &[u8]) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(data[..data.len().min(RSA_BYTES_MAX + 1)].to_vec())
}

fn session(handle: Handle) -> Result<Arc<Session>, CK_RV> {
    library()?.session(handle)
}

functions! {
    C_Initialize(arguments: *mut c_void) {
        let mut may_start_threads = true;
        if !arguments.is_null() {
            let one: CK_C_INITIALIZE_ARGS = value(arguments.cast::<CK_C_INITIALIZE_ARGS>())?;
            let given = [
                one.CreateMutex.is_some(),
                one.DestroyMutex.is_some(),
                one.LockMutex.is_some(),
                one.UnlockMutex.is_some(),
            ];
            let is_partial = given.contains(&true) && given.contains(&false);
            if is_partial || !one.pReserved.is_null() {
                return Err(CKR_ARGUMENTS_BAD);
            }
            if given[0] && one.flags & CKF_OS_LOCKING_OK == 0 {
                return Err(CKR_CANT_LOCK);
            }
            may_start_threads = one.flags & CKF_LIBRARY_CANT_CREATE_OS_THREADS == 0;
        }
        process::initialize(|| Library::new(may_start_threads))
    }

    C_Finalize(reserved: *mut c_void) {
        library()?;
        if !reserved.is_null() {
            return Err(CKR_ARGUMENTS_BAD);
        }
        process::finalize()?.end();
        Ok(())
    }

    C_GetInfo(to: *mut CK_INFO) {
        library()?;
        *place(to)? = CK_INFO {
            cryptokiVersion: CK_VERSION { major: 3, minor: 0 },
            manufacturerID: padded(MAKER),
            flags: 0,
            libraryDescription: padded("Oarlock PKCS#11 module"),
            libraryVersion: VERSION,
        };
        Ok(())
    }

    C_GetSlotList(_with_token: CK_BBOOL, slots: *mut CK_SLOT_ID, count: Length) {
        let all: Vec<_> = library()?.tokens.iter().map(|token| token.slot).collect();
        fill_list(&all, slots, count)
    }

    C_GetSlotInfo(slot: CK_SLOT_ID, to: *mut CK_SLOT_INFO) {
        let library = library()?;
        let token = library.token(slot)?;
        *place(to)? = CK_SLOT_INFO {
            slotDescription: padded(&token.label),
            manufacturerID: padded(MAKER),
            flags: CKF_TOKEN_PRESENT,
            hardwareVersion: VERSION,
            firmwareVersion: VERSION,
        };
        Ok(())
    }

    C_GetTokenInfo(slot: CK_SLOT_ID, to: *mut CK_TOKEN_INFO) {
        let library = library()?;
        let token = library.token(slot)?;
        let sessions = token.sessions();
        let login = match token.has_pin() {
            true => CKF_LOGIN_REQUIRED | CKF_USER_PIN_INITIALIZED,
            false => 0,
        };
        *place(to)? = CK_TOKEN_INFO {
            label: padded(&token.label),
            manufacturerID: padded(MAKER),
            model: padded("Oarlock"),
            serialNumber: padded(&format!("{:016}", slot + 1)),
            flags: CKF_TOKEN_INITIALIZED | CKF_WRITE_PROTECTED | CKF_RNG | login,
            ulMaxSessionCount: SESSIONS_MAX as CK_ULONG,
            ulSessionCount: sessions.all as CK_ULONG,
            ulMaxRwSessionCount: SESSIONS_MAX as CK_ULONG,
            ulRwSessionCount: sessions.writing as CK_ULONG,
            ulMaxPinLen: PIN_BYTES_MAX as CK_ULONG,
            ulMinPinLen: 1,
            ulTotalPublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePublicMemory: CK_UNAVAILABLE_INFORMATION,
            ulTotalPrivateMemory: CK_UNAVAILABLE_INFORMATION,
            ulFreePrivateMemory: CK_UNAVAILABLE_INFORMATION,
            hardwareVersion: VERSION,
            firmwareVersion: VERSION,
            utcTime: [b' '; 16],
        };
        Ok(())
    }

    C_GetMechanismList(slot: CK_SLOT_ID, list: *mut CK_MECHANISM_TYPE, count: Length) {
        library()?.token(slot)?;
        fill_list(&mechanisms::TABLE.map(|row| row.kind), list, count)
    }

    C_GetMechanismInfo(slot: CK_SLOT_ID, kind: CK_MECHANISM_TYPE, to: *mut CK_MECHANISM_INFO) {
        library()?.token(slot)?;
        let to = place(to)?;
        *to = mechanisms::info(kind)?;
        Ok(())
    }

    C_OpenSession(
        slot: CK_SLOT_ID,
        flags: CK_FLAGS,
        _application: *mut c_void,
        _notify: CK_NOTIFY,
        to: *mut Handle,
    ) {
        let library = library()?;
        let to = place(to)?;
        *to = library.open(slot, flags)?;
        Ok(())
    }

    C_CloseSession(handle: Handle) {
        library()?.close(handle)
    }

    C_CloseAllSessions(slot: CK_SLOT_ID) {
        library()?.close_all(slot)
    }

    C_GetSessionInfo(handle: Handle, to: *mut CK_SESSION_INFO) {
        let session = session(handle)?;
        let state = match (session.token.is_logged_in(), session.is_writing()) {
            (false, false) => CKS_RO_PUBLIC_SESSION,
            (false, true) => CKS_RW_PUBLIC_SESSION,
            (true, false) => CKS_RO_USER_FUNCTIONS,
            (true, true) => CKS_RW_USER_FUNCTIONS,
        };
        *place(to)? = CK_SESSION_INFO {
            slotID: session.token.slot,
            state,
            flags: session.flags,
            ulDeviceError: 0,
        };
        Ok(())
    }

    C_SessionCancel(handle: Handle, flags: CK_FLAGS) {
        session(handle)?.cancel(flags);
        Ok(())
    }

    C_Login(handle: Handle, user: CK_USER_TYPE, pin: Bytes, bytes: CK_ULONG) {
        let session = session(handle)?;
        match user {
            CKU_USER => session.token.log_in(input(pin, bytes)?),
            // No key asks for a PIN again.
            CKU_CONTEXT_SPECIFIC => Err(CKR_OPERATION_NOT_INITIALIZED),
            // There is no security officer, since nothing can be written.
            CKU_SO => Err(CKR_PIN_INCORRECT),
            _ => Err(CKR_USER_TYPE_INVALID),
        }
    }

    C_LoginUser(
        handle: Handle,
        user: CK_USER_TYPE,
        pin: Bytes,
        bytes: CK_ULONG,
        _name: Bytes,
        _name_bytes: CK_ULONG,
    ) {
        let session = session(handle)?;
        match user {
            CKU_USER => session.token.log_in(input(pin, bytes)?),
            _ => Err(CKR_USER_TYPE_INVALID),
        }
    }

    C_Logout(handle: Handle) {
        session(handle)?.token.log_out()
    }

    C_GetObjectSize(handle: Handle, object: Key, to: Length) {
        let session = session(handle)?;
        let objects = session.objects();
        objects.get(object, session.token.sight()).ok_or(CKR_OBJECT_HANDLE_INVALID)?;
        *place(to)? = CK_UNAVAILABLE_INFORMATION;
        Ok(())
    }

    C_GetAttributeValue(handle: Handle, object: Key, to: *mut CK_ATTRIBUTE, count: CK_ULONG) {
        let session = session(handle)?;
        let objects = session.objects();
        let object = objects.get(object, session.token.sight());
        show(&object.ok_or(CKR_OBJECT_HANDLE_INVALID)?.attributes, to, count)
    }

    C_FindObjectsInit(handle: Handle, wanted: *mut CK_ATTRIBUTE, count: CK_ULONG) {
        let session = session(handle)?;
        session.find_begin(&template(wanted, count)?)
    }

    C_FindObjects(handle: Handle, to: *mut Key, places: CK_ULONG, count: Length) {
        let session = session(handle)?;
        let count = place(count)?;
        if to.is_null() || !to.is_aligned() {
            return Err(CKR_ARGUMENTS_BAD);
        }
        let found = session.find(usize::try_from(places).unwrap_or(usize::MAX))?;
        *count = found.len() as CK_ULONG;
        // There are at most as many as there are places.
        fill_list(&found, to, count)
    }

    C_FindObjectsFinal(handle: Handle) {
        session(handle)?.find_end()
    }

    C_EncryptInit(handle: Handle, how: *mut CK_MECHANISM, key: Key) {
        let session = session(handle)?;
        if how.is_null() {
            session.cancel(CKF_ENCRYPT);
            return Ok(());
        }
        session.encrypt_begin(&mechanism(how)?, key)
    }

    C_Encrypt(handle: Handle, data: Bytes, bytes: CK_ULONG, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        let data = session.given(CKF_ENCRYPT, input(data, bytes))?;
        let room = session.given(CKF_ENCRYPT, Room::new(out, out_bytes))?;
        session.encrypt(&kept(data), room)
    }

    C_EncryptUpdate(handle: Handle, part: Bytes, bytes: CK_ULONG, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        let part = session.given(CKF_ENCRYPT, input(part, bytes))?;
        let room = session.given(CKF_ENCRYPT, Room::new(out, out_bytes))?;
        session.encrypt_update(part, room)
    }

    C_EncryptFinal(handle: Handle, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        session.encrypt_end(session.given(CKF_ENCRYPT, Room::new(out, out_bytes))?)
    }

    C_DecryptInit(handle: Handle, how: *mut CK_MECHANISM, key: Key) {
        let session = session(handle)?;
        if how.is_null() {
            session.cancel(CKF_DECRYPT);
            return Ok(());
        }
        session.decrypt_begin(&mechanism(how)?, key)
    }

    C_Decrypt(handle: Handle, data: Bytes, bytes: CK_ULONG, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        let data = session.given(CKF_DECRYPT, input(data, bytes))?;
        let room = session.given(CKF_DECRYPT, Room::new(out, out_bytes))?;
        session.decrypt(&kept(data), room)
    }

    C_DecryptUpdate(handle: Handle, part: Bytes, bytes: CK_ULONG, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        let part = session.given(CKF_DECRYPT, input(part, bytes))?;
        let room = session.given(CKF_DECRYPT, Room::new(out, out_bytes))?;
        session.decrypt_update(part, room)
    }

    C_DecryptFinal(handle: Handle, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        session.decrypt_end(session.given(CKF_DECRYPT, Room::new(out, out_bytes))?)
    }

    C_DigestInit(handle: Handle, how: *mut CK_MECHANISM) {
        let session = session(handle)?;
        if how.is_null() {
            session.cancel(CKF_DIGEST);
            return Ok(());
        }
        session.digest_begin(&mechanism(how)?)
    }

    C_Digest(handle: Handle, data: Bytes, bytes: CK_ULONG, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        let data = session.given(CKF_DIGEST, input(data, bytes))?;
        let room = session.given(CKF_DIGEST, Room::new(out, out_bytes))?;
        session.digest(data, room)
    }

    C_DigestUpdate(handle: Handle, part: Bytes, bytes: CK_ULONG) {
        let session = session(handle)?;
        session.digest_update(session.given(CKF_DIGEST, input(part, bytes))?)
    }

    C_DigestFinal(handle: Handle, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        session.digest_end(session.given(CKF_DIGEST, Room::new(out, out_bytes))?)
    }

    C_SignInit(handle: Handle, how: *mut CK_MECHANISM, key: Key) {
        let session = session(handle)?;
        if how.is_null() {
            session.cancel(CKF_SIGN);
            return Ok(());
        }
        session.sign_begin(&mechanism(how)?, key)
    }

    C_Sign(handle: Handle, data: Bytes, bytes: CK_ULONG, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        let data = session.given(CKF_SIGN, input(data, bytes))?;
        let room = session.given(CKF_SIGN, Room::new(out, out_bytes))?;
        session.sign(data, room)
    }

    C_SignUpdate(handle: Handle, part: Bytes, bytes: CK_ULONG) {
        let session = session(handle)?;
        session.sign_update(session.given(CKF_SIGN, input(part, bytes))?)
    }

    C_SignFinal(handle: Handle, out: Bytes, out_bytes: Length) {
        let session = session(handle)?;
        session.sign_end(session.given(CKF_SIGN, Room::new(out, out_bytes))?)
    }

    C_VerifyInit(handle: Handle, how: *mut CK_MECHANISM, key: Key) {
        let session = session(handle)?;
        if how.is_null() {
            session.cancel(CKF_VERIFY);
            return Ok(());
        }
        session.verify_begin(&mechanism(how)?, key)
    }

    C_Verify(handle: Handle, data: Bytes, bytes: CK_ULONG, signature: Bytes, its_bytes: CK_ULONG) {
        let session = session(handle)?;
        let data = session.given(CKF_VERIFY, input(data, bytes))?;
        let signature = session.given(CKF_VERIFY, input(signature, its_bytes))?;
        session.verify(data, signature)
    }

    C_VerifyUpdate(handle: Handle, part: Bytes, bytes: CK_ULONG) {
        let session = session(handle)?;
        session.verify_update(session.given(CKF_VERIFY, input(part, bytes))?)
    }

    C_VerifyFinal(handle: Handle, signature: Bytes, bytes: CK_ULONG) {
        let session = session(handle)?;
        session.verify_end(session.given(CKF_VERIFY, input(signature, bytes))?)
    }

    C_GenerateRandom(handle: Handle, out: Bytes, bytes: CK_ULONG) {
        session(handle)?;
        let mut room = bytes;
        let whole = usize::try_from(bytes).map_err(|_| CKR_ARGUMENTS_BAD)?;
        let room = Room::new(out, &mut room)?;
        if whole > RANDOM_BYTES_MAX || room.is_question() && bytes != 0 {
            return Err(CKR_ARGUMENTS_BAD);
        }
        let mut random = vec![0; whole];
        fill_random(&mut random);
        let filled = room.fill(&random);
        random.zeroize();
        filled
    }

    C_WaitForSlotEvent(flags: CK_FLAGS, _slot: *mut CK_SLOT_ID, reserved: *mut c_void) {
        library()?;
        if !reserved.is_null() {
            return Err(CKR_ARGUMENTS_BAD);
        }
        // Tokens are always in their slots.
        match flags & CKF_DONT_BLOCK {
            0 => Err(CKR_FUNCTION_NOT_SUPPORTED),
            _ => Err(CKR_NO_EVENT),
        }
    }
}

type Mechanism = *mut CK_MECHANISM;
type Template = *mut CK_ATTRIBUTE;

absent! {
    C_InitToken(CK_SLOT_ID, Bytes, CK_ULONG, Bytes) CKR_TOKEN_WRITE_PROTECTED
    C_InitPIN(Handle, Bytes, CK_ULONG) CKR_TOKEN_WRITE_PROTECTED
    C_SetPIN(Handle, Bytes, CK_ULONG, Bytes, CK_ULONG) CKR_TOKEN_WRITE_PROTECTED
    C_CreateObject(Handle, Template, CK_ULONG, *mut Key) CKR_TOKEN_WRITE_PROTECTED
    C_CopyObject(Handle, Key, Template, CK_ULONG, *mut Key) CKR_TOKEN_WRITE_PROTECTED
    C_DestroyObject(Handle, Key) CKR_TOKEN_WRITE_PROTECTED
    C_SetAttributeValue(Handle, Key, Template, CK_ULONG) CKR_TOKEN_WRITE_PROTECTED
    C_GenerateKey(Handle, Mechanism, Template, CK_ULONG, *mut Key) CKR_TOKEN_WRITE_PROTECTED
    C_GenerateKeyPair(Handle, Mechanism, Template, CK_ULONG, Template, CK_ULONG, *mut Key, *mut Key)
        CKR_TOKEN_WRITE_PROTECTED
    C_GetOperationState(Handle, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_SetOperationState(Handle, Bytes, CK_ULONG, Key, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_DigestKey(Handle, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_SignRecoverInit(Handle, Mechanism, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_SignRecover(Handle, Bytes, CK_ULONG, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_VerifyRecoverInit(Handle, Mechanism, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_VerifyRecover(Handle, Bytes, CK_ULONG, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_DigestEncryptUpdate(Handle, Bytes, CK_ULONG, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_DecryptDigestUpdate(Handle, Bytes, CK_ULONG, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_SignEncryptUpdate(Handle, Bytes, CK_ULONG, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_DecryptVerifyUpdate(Handle, Bytes, CK_ULONG, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_WrapKey(Handle, Mechanism, Key, Key, Bytes, Length) CKR_FUNCTION_NOT_SUPPORTED
    C_UnwrapKey(Handle, Mechanism, Key, Bytes, CK_ULONG, Template, CK_ULONG, *mut Key)
        CKR_FUNCTION_NOT_SUPPORTED
    C_DeriveKey(Handle, Mechanism, Key, Template, CK_ULONG, *mut Key) CKR_FUNCTION_NOT_SUPPORTED
    C_SeedRandom(Handle, Bytes, CK_ULONG) CKR_RANDOM_SEED_NOT_SUPPORTED
    C_GetFunctionStatus(Handle) CKR_FUNCTION_NOT_PARALLEL
    C_CancelFunction(Handle) CKR_FUNCTION_NOT_PARALLEL
    C_MessageEncryptInit(Handle, Mechanism, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_EncryptMessage(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, CK_ULONG, Bytes, Length)
        CKR_FUNCTION_NOT_SUPPORTED
    C_EncryptMessageBegin(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG) CKR_FUNCTION_NOT_SUPPORTED
    C_EncryptMessageNext(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, Length, CK_FLAGS)
        CKR_FUNCTION_NOT_SUPPORTED
    C_MessageEncryptFinal(Handle) CKR_FUNCTION_NOT_SUPPORTED
    C_MessageDecryptInit(Handle, Mechanism, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_DecryptMessage(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, CK_ULONG, Bytes, Length)
        CKR_FUNCTION_NOT_SUPPORTED
    C_DecryptMessageBegin(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG) CKR_FUNCTION_NOT_SUPPORTED
    C_DecryptMessageNext(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, Length, CK_FLAGS)
        CKR_FUNCTION_NOT_SUPPORTED
    C_MessageDecryptFinal(Handle) CKR_FUNCTION_NOT_SUPPORTED
    C_MessageSignInit(Handle, Mechanism, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_SignMessage(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, Length)
        CKR_FUNCTION_NOT_SUPPORTED
    C_SignMessageBegin(Handle, *mut c_void, CK_ULONG) CKR_FUNCTION_NOT_SUPPORTED
    C_SignMessageNext(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, Length)
        CKR_FUNCTION_NOT_SUPPORTED
    C_MessageSignFinal(Handle) CKR_FUNCTION_NOT_SUPPORTED
    C_MessageVerifyInit(Handle, Mechanism, Key) CKR_FUNCTION_NOT_SUPPORTED
    C_VerifyMessage(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, CK_ULONG)
        CKR_FUNCTION_NOT_SUPPORTED
    C_VerifyMessageBegin(Handle, *mut c_void, CK_ULONG) CKR_FUNCTION_NOT_SUPPORTED
    C_VerifyMessageNext(Handle, *mut c_void, CK_ULONG, Bytes, CK_ULONG, Bytes, CK_ULONG)
        CKR_FUNCTION_NOT_SUPPORTED
    C_MessageVerifyFinal(Handle) CKR_FUNCTION_NOT_SUPPORTED
}

const MAKER: &str = "Oarlock";
const VERSION: CK_VERSION = CK_VERSION { major: 0, minor: 1 };
/// The longest modulus.
const RSA_BYTES_MAX: usize = 512;
const RANDOM_BYTES_MAX: usize = 1 << 24;
