//! The lists of functions, and how programs get them.

use std::ffi::{CStr, c_void};
use std::ptr;

use cryptoki_sys::*;

use super::calls;
use crate::pointers::{fill_list, guarded, place};

/// Returns the list of functions of PKCS#11 2.40.
///
/// # Safety
/// The caller owns `to`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetFunctionList(to: *mut *mut CK_FUNCTION_LIST) -> CK_RV {
    guarded(|| {
        // SAFETY: the caller says that it owns `to`, or it is NULL.
        *unsafe { place(to) }? = ptr::from_ref(&LIST_2_40).cast_mut();
        Ok(())
    })
}

/// Returns the interfaces.
///
/// # Safety
/// The caller owns `count` and the `*count` interfaces at `to`; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetInterfaceList(to: *mut CK_INTERFACE, count: *mut CK_ULONG) -> CK_RV {
    // SAFETY: the caller says that it owns both.
    guarded(|| unsafe { fill_list(&INTERFACES.0, to, count) })
}

/// Returns the interface of a name and version that has all of some flags. Without name or version, any will do.
///
/// # Safety
/// `name` is NULL or ends with a NUL; `version` is NULL or a version; the caller owns `to`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn C_GetInterface(
    name: *mut CK_UTF8CHAR,
    version: *mut CK_VERSION,
    to: *mut *mut CK_INTERFACE,
    flags: CK_FLAGS,
) -> CK_RV {
    guarded(|| {
        // SAFETY: the caller says that it owns `to`, or it is NULL.
        let to = unsafe { place(to) }?;
        // SAFETY: not NULL, and so a text that ends with a NUL, as the caller says.
        let has_name = name.is_null() || unsafe { CStr::from_ptr(name.cast()) } == NAME;
        let wanted = match version.is_null() {
            true => None,
            // SAFETY: not NULL, and so a version, as the caller says.
            false => Some(unsafe { version.read_unaligned() }),
        };
        let is_it = |one: &CK_VERSION| {
            wanted.is_none_or(|wanted| (wanted.major, wanted.minor) == (one.major, one.minor))
        };
        let mut versions = [LIST_3_0.version, LIST_2_40.version].into_iter();
        let place = versions
            .position(|version| is_it(&version))
            .ok_or(CKR_ARGUMENTS_BAD)?;
        let interface = &INTERFACES.0[place];
        if !has_name || interface.flags & flags != flags {
            return Err(CKR_ARGUMENTS_BAD);
        }
        *to = ptr::from_ref(interface).cast_mut();
        Ok(())
    })
}

/// Returns the list of functions of PKCS#11 2.40.
pub(crate) fn functions() -> &'static CK_FUNCTION_LIST {
    &LIST_2_40
}

struct Interfaces([CK_INTERFACE; 2]);

// SAFETY: the pointers are to a name and to lists that nothing changes.
unsafe impl Sync for Interfaces {}

const NAME: &CStr = c"PKCS 11";

static INTERFACES: Interfaces = Interfaces([
    interface(ptr::from_ref(&LIST_3_0).cast()),
    interface(ptr::from_ref(&LIST_2_40).cast()),
]);

const fn interface(list: *const c_void) -> CK_INTERFACE {
    CK_INTERFACE {
        pInterfaceName: NAME.as_ptr().cast_mut().cast(),
        pFunctionList: list.cast_mut(),
        flags: 0,
    }
}

static LIST_2_40: CK_FUNCTION_LIST = CK_FUNCTION_LIST {
    version: CK_VERSION {
        major: 2,
        minor: 40,
    },
    C_Initialize: Some(calls::C_Initialize),
    C_Finalize: Some(calls::C_Finalize),
    C_GetInfo: Some(calls::C_GetInfo),
    C_GetFunctionList: Some(C_GetFunctionList),
    C_GetSlotList: Some(calls::C_GetSlotList),
    C_GetSlotInfo: Some(calls::C_GetSlotInfo),
    C_GetTokenInfo: Some(calls::C_GetTokenInfo),
    C_GetMechanismList: Some(calls::C_GetMechanismList),
    C_GetMechanismInfo: Some(calls::C_GetMechanismInfo),
    C_InitToken: Some(calls::C_InitToken),
    C_InitPIN: Some(calls::C_InitPIN),
    C_SetPIN: Some(calls::C_SetPIN),
    C_OpenSession: Some(calls::C_OpenSession),
    C_CloseSession: Some(calls::C_CloseSession),
    C_CloseAllSessions: Some(calls::C_CloseAllSessions),
    C_GetSessionInfo: Some(calls::C_GetSessionInfo),
    C_GetOperationState: Some(calls::C_GetOperationState),
    C_SetOperationState: Some(calls::C_SetOperationState),
    C_Login: Some(calls::C_Login),
    C_Logout: Some(calls::C_Logout),
    C_CreateObject: Some(calls::C_CreateObject),
    C_CopyObject: Some(calls::C_CopyObject),
    C_DestroyObject: Some(calls::C_DestroyObject),
    C_GetObjectSize: Some(calls::C_GetObjectSize),
    C_GetAttributeValue: Some(calls::C_GetAttributeValue),
    C_SetAttributeValue: Some(calls::C_SetAttributeValue),
    C_FindObjectsInit: Some(calls::C_FindObjectsInit),
    C_FindObjects: Some(calls::C_FindObjects),
    C_FindObjectsFinal: Some(calls::C_FindObjectsFinal),
    C_EncryptInit: Some(calls::C_EncryptInit),
    C_Encrypt: Some(calls::C_Encrypt),
    C_EncryptUpdate: Some(calls::C_EncryptUpdate),
    C_EncryptFinal: Some(calls::C_EncryptFinal),
    C_DecryptInit: Some(calls::C_DecryptInit),
    C_Decrypt: Some(calls::C_Decrypt),
    C_DecryptUpdate: Some(calls::C_DecryptUpdate),
    C_DecryptFinal: Some(calls::C_DecryptFinal),
    C_DigestInit: Some(calls::C_DigestInit),
    C_Digest: Some(calls::C_Digest),
    C_DigestUpdate: Some(calls::C_DigestUpdate),
    C_DigestKey: Some(calls::C_DigestKey),
    C_DigestFinal: Some(calls::C_DigestFinal),
    C_SignInit: Some(calls::C_SignInit),
    C_Sign: Some(calls::C_Sign),
    C_SignUpdate: Some(calls::C_SignUpdate),
    C_SignFinal: Some(calls::C_SignFinal),
    C_SignRecoverInit: Some(calls::C_SignRecoverInit),
    C_SignRecover: Some(calls::C_SignRecover),
    C_VerifyInit: Some(calls::C_VerifyInit),
    C_Verify: Some(calls::C_Verify),
    C_VerifyUpdate: Some(calls::C_VerifyUpdate),
    C_VerifyFinal: Some(calls::C_VerifyFinal),
    C_VerifyRecoverInit: Some(calls::C_VerifyRecoverInit),
    C_VerifyRecover: Some(calls::C_VerifyRecover),
    C_DigestEncryptUpdate: Some(calls::C_DigestEncryptUpdate),
    C_DecryptDigestUpdate: Some(calls::C_DecryptDigestUpdate),
    C_SignEncryptUpdate: Some(calls::C_SignEncryptUpdate),
    C_DecryptVerifyUpdate: Some(calls::C_DecryptVerifyUpdate),
    C_GenerateKey: Some(calls::C_GenerateKey),
    C_GenerateKeyPair: Some(calls::C_GenerateKeyPair),
    C_WrapKey: Some(calls::C_WrapKey),
    C_UnwrapKey: Some(calls::C_UnwrapKey),
    C_DeriveKey: Some(calls::C_DeriveKey),
    C_SeedRandom: Some(calls::C_SeedRandom),
    C_GenerateRandom: Some(calls::C_GenerateRandom),
    C_GetFunctionStatus: Some(calls::C_GetFunctionStatus),
    C_CancelFunction: Some(calls::C_CancelFunction),
    C_WaitForSlotEvent: Some(calls::C_WaitForSlotEvent),
};

static LIST_3_0: CK_FUNCTION_LIST_3_0 = CK_FUNCTION_LIST_3_0 {
    version: CK_VERSION { major: 3, minor: 0 },
    C_Initialize: Some(calls::C_Initialize),
    C_Finalize: Some(calls::C_Finalize),
    C_GetInfo: Some(calls::C_GetInfo),
    C_GetFunctionList: Some(C_GetFunctionList),
    C_GetSlotList: Some(calls::C_GetSlotList),
    C_GetSlotInfo: Some(calls::C_GetSlotInfo),
    C_GetTokenInfo: Some(calls::C_GetTokenInfo),
    C_GetMechanismList: Some(calls::C_GetMechanismList),
    C_GetMechanismInfo: Some(calls::C_GetMechanismInfo),
    C_InitToken: Some(calls::C_InitToken),
    C_InitPIN: Some(calls::C_InitPIN),
    C_SetPIN: Some(calls::C_SetPIN),
    C_OpenSession: Some(calls::C_OpenSession),
    C_CloseSession: Some(calls::C_CloseSession),
    C_CloseAllSessions: Some(calls::C_CloseAllSessions),
    C_GetSessionInfo: Some(calls::C_GetSessionInfo),
    C_GetOperationState: Some(calls::C_GetOperationState),
    C_SetOperationState: Some(calls::C_SetOperationState),
    C_Login: Some(calls::C_Login),
    C_Logout: Some(calls::C_Logout),
    C_CreateObject: Some(calls::C_CreateObject),
    C_CopyObject: Some(calls::C_CopyObject),
    C_DestroyObject: Some(calls::C_DestroyObject),
    C_GetObjectSize: Some(calls::C_GetObjectSize),
    C_GetAttributeValue: Some(calls::C_GetAttributeValue),
    C_SetAttributeValue: Some(calls::C_SetAttributeValue),
    C_FindObjectsInit: Some(calls::C_FindObjectsInit),
    C_FindObjects: Some(calls::C_FindObjects),
    C_FindObjectsFinal: Some(calls::C_FindObjectsFinal),
    C_EncryptInit: Some(calls::C_EncryptInit),
    C_Encrypt: Some(calls::C_Encrypt),
    C_EncryptUpdate: Some(calls::C_EncryptUpdate),
    C_EncryptFinal: Some(calls::C_EncryptFinal),
    C_DecryptInit: Some(calls::C_DecryptInit),
    C_Decrypt: Some(calls::C_Decrypt),
    C_DecryptUpdate: Some(calls::C_DecryptUpdate),
    C_DecryptFinal: Some(calls::C_DecryptFinal),
    C_DigestInit: Some(calls::C_DigestInit),
    C_Digest: Some(calls::C_Digest),
    C_DigestUpdate: Some(calls::C_DigestUpdate),
    C_DigestKey: Some(calls::C_DigestKey),
    C_DigestFinal: Some(calls::C_DigestFinal),
    C_SignInit: Some(calls::C_SignInit),
    C_Sign: Some(calls::C_Sign),
    C_SignUpdate: Some(calls::C_SignUpdate),
    C_SignFinal: Some(calls::C_SignFinal),
    C_SignRecoverInit: Some(calls::C_SignRecoverInit),
    C_SignRecover: Some(calls::C_SignRecover),
    C_VerifyInit: Some(calls::C_VerifyInit),
    C_Verify: Some(calls::C_Verify),
    C_VerifyUpdate: Some(calls::C_VerifyUpdate),
    C_VerifyFinal: Some(calls::C_VerifyFinal),
    C_VerifyRecoverInit: Some(calls::C_VerifyRecoverInit),
    C_VerifyRecover: Some(calls::C_VerifyRecover),
    C_DigestEncryptUpdate: Some(calls::C_DigestEncryptUpdate),
    C_DecryptDigestUpdate: Some(calls::C_DecryptDigestUpdate),
    C_SignEncryptUpdate: Some(calls::C_SignEncryptUpdate),
    C_DecryptVerifyUpdate: Some(calls::C_DecryptVerifyUpdate),
    C_GenerateKey: Some(calls::C_GenerateKey),
    C_GenerateKeyPair: Some(calls::C_GenerateKeyPair),
    C_WrapKey: Some(calls::C_WrapKey),
    C_UnwrapKey: Some(calls::C_UnwrapKey),
    C_DeriveKey: Some(calls::C_DeriveKey),
    C_SeedRandom: Some(calls::C_SeedRandom),
    C_GenerateRandom: Some(calls::C_GenerateRandom),
    C_GetFunctionStatus: Some(calls::C_GetFunctionStatus),
    C_CancelFunction: Some(calls::C_CancelFunction),
    C_WaitForSlotEvent: Some(calls::C_WaitForSlotEvent),
    C_GetInterfaceList: Some(C_GetInterfaceList),
    C_GetInterface: Some(C_GetInterface),
    C_LoginUser: Some(calls::C_LoginUser),
    C_SessionCancel: Some(calls::C_SessionCancel),
    C_MessageEncryptInit: Some(calls::C_MessageEncryptInit),
    C_EncryptMessage: Some(calls::C_EncryptMessage),
    C_EncryptMessageBegin: Some(calls::C_EncryptMessageBegin),
    C_EncryptMessageNext: Some(calls::C_EncryptMessageNext),
    C_MessageEncryptFinal: Some(calls::C_MessageEncryptFinal),
    C_MessageDecryptInit: Some(calls::C_MessageDecryptInit),
    C_DecryptMessage: Some(calls::C_DecryptMessage),
    C_DecryptMessageBegin: Some(calls::C_DecryptMessageBegin),
    C_DecryptMessageNext: Some(calls::C_DecryptMessageNext),
    C_MessageDecryptFinal: Some(calls::C_MessageDecryptFinal),
    C_MessageSignInit: Some(calls::C_MessageSignInit),
    C_SignMessage: Some(calls::C_SignMessage),
    C_SignMessageBegin: Some(calls::C_SignMessageBegin),
    C_SignMessageNext: Some(calls::C_SignMessageNext),
    C_MessageSignFinal: Some(calls::C_MessageSignFinal),
    C_MessageVerifyInit: Some(calls::C_MessageVerifyInit),
    C_VerifyMessage: Some(calls::C_VerifyMessage),
    C_VerifyMessageBegin: Some(calls::C_VerifyMessageBegin),
    C_VerifyMessageNext: Some(calls::C_VerifyMessageNext),
    C_MessageVerifyFinal: Some(calls::C_MessageVerifyFinal),
};
