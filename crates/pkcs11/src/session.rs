//! Sessions.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use cryptoki_sys::*;

use crate::key::Key;
use crate::mechanisms::{self, Mechanism};
use crate::objects::Objects;
use crate::operation::{Encryption, Hashing, Signature};
use crate::pointers::Room;
use crate::token::Token;

/// A session.
pub(crate) struct Session {
    pub(crate) token: Arc<Token>,
    pub(crate) flags: CK_FLAGS,
    state: Mutex<Active>,
}

/// The operations under way in a session, each of which can be there once.
#[derive(Default)]
pub(crate) struct Active {
    found: Option<std::vec::IntoIter<CK_OBJECT_HANDLE>>,
    signature: Option<Signature>,
    verification: Option<Signature>,
    encryption: Option<Encryption>,
    decryption: Option<Encryption>,
    digest: Option<Hashing>,
}

/// The sessions that are open. Handles of closed ones are not given again.
pub(crate) struct Sessions {
    shards: [RwLock<HashMap<CK_SESSION_HANDLE, Arc<Session>>>; SHARDS],
    next: AtomicU64,
}

const SHARDS: usize = 16;
/// The most sessions of a process.
pub(crate) const SESSIONS_MAX: usize = 65536;

impl Sessions {
    pub(crate) fn new() -> Self {
        Self {
            shards: Default::default(),
            next: AtomicU64::new(1),
        }
    }

    fn shard(
        &self,
        handle: CK_SESSION_HANDLE,
    ) -> &RwLock<HashMap<CK_SESSION_HANDLE, Arc<Session>>> {
        &self.shards[handle as usize % SHARDS]
    }

    pub(crate) fn open(&self, session: Session) -> CK_SESSION_HANDLE {
        let handle = self.next.fetch_add(1, Ordering::Relaxed);
        let mut shard = self
            .shard(handle)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        shard.insert(handle, Arc::new(session));
        handle
    }

    pub(crate) fn get(&self, handle: CK_SESSION_HANDLE) -> Result<Arc<Session>, CK_RV> {
        let shard = self
            .shard(handle)
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        shard
            .get(&handle)
            .cloned()
            .ok_or(CKR_SESSION_HANDLE_INVALID)
    }

    /// Closes a session. A call that uses it ends as if it were open.
    pub(crate) fn close(&self, handle: CK_SESSION_HANDLE) -> Result<Arc<Session>, CK_RV> {
        let mut shard = self
            .shard(handle)
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        shard.remove(&handle).ok_or(CKR_SESSION_HANDLE_INVALID)
    }

    /// Closes the sessions of a token and returns them.
    pub(crate) fn close_all(&self, slot: CK_SLOT_ID) -> Vec<Arc<Session>> {
        let mut closed = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.write().unwrap_or_else(PoisonError::into_inner);
            let of_slot = shard.extract_if(|_, session| session.token.slot == slot);
            closed.extend(of_slot.map(|(_, session)| session));
        }
        closed
    }
}

/// Ends an operation, unless the program only learned how long its buffer has to be.
fn ends<T, R>(
    place: &mut Option<T>,
    run: impl FnOnce(&mut Option<T>) -> Result<R, CK_RV>,
) -> Result<R, CK_RV> {
    if place.is_none() {
        return Err(CKR_OPERATION_NOT_INITIALIZED);
    }
    let result = run(place);
    if let Err(code) = result
        && code != CKR_BUFFER_TOO_SMALL
    {
        *place = None;
    }
    result
}

/// Refuses a call for a whole message while the message comes in parts.
fn whole(is_in_parts: bool) -> Result<(), CK_RV> {
    match is_in_parts {
        true => Err(CKR_OPERATION_ACTIVE),
        false => Ok(()),
    }
}

fn begin<T>(place: &mut Option<T>, operation: T) {
    *place = Some(operation);
}

fn free<T>(place: &Option<T>) -> Result<(), CK_RV> {
    match place {
        None => Ok(()),
        Some(_) => Err(CKR_OPERATION_ACTIVE),
    }
}

impl Session {
    pub(crate) fn new(token: Arc<Token>, flags: CK_FLAGS) -> Self {
        Self {
            token,
            flags,
            state: Mutex::default(),
        }
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.flags & CKF_RW_SESSION != 0
    }

    fn active(&self) -> MutexGuard<'_, Active> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn objects(&self) -> Arc<Objects> {
        self.token.objects()
    }

    fn key(&self, handle: CK_OBJECT_HANDLE, class: CK_OBJECT_CLASS) -> Result<Arc<Key>, CK_RV> {
        let objects = self.token.latest();
        let object = objects
            .get(handle, self.token.sight())
            .ok_or(CKR_KEY_HANDLE_INVALID)?;
        let key = object.key.as_ref().ok_or(CKR_KEY_HANDLE_INVALID)?;
        match object.class == class {
            true => Ok(Arc::clone(key)),
            false => Err(CKR_KEY_FUNCTION_NOT_PERMITTED),
        }
    }

    /// Returns the arguments of a call. If they are refused, the operation of this kind ends (PKCS#11 3.0, 5.13.2 and others:
    /// a call ends it unless the buffer is too small, or it only asks for a length).
    pub(crate) fn given<T>(&self, kind: CK_FLAGS, argument: Result<T, CK_RV>) -> Result<T, CK_RV> {
        argument.inspect_err(|_| self.cancel(kind))
    }

    /// Cancels the operations of some kinds.
    pub(crate) fn cancel(&self, flags: CK_FLAGS) {
        let mut active = self.active();
        if flags & CKF_FIND_OBJECTS != 0 {
            active.found = None;
        }
        if flags & CKF_SIGN != 0 {
            active.signature = None;
        }
        if flags & CKF_VERIFY != 0 {
            active.verification = None;
        }
        if flags & CKF_ENCRYPT != 0 {
            active.encryption = None;
        }
        if flags & CKF_DECRYPT != 0 {
            active.decryption = None;
        }
        if flags & CKF_DIGEST != 0 {
            active.digest = None;
        }
    }

    pub(crate) fn find_begin(&self, template: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> Result<(), CK_RV> {
        let mut active = self.active();
        free(&active.found)?;
        let found = self.token.latest().find(template, self.token.sight());
        begin(&mut active.found, found.into_iter());
        Ok(())
    }

    pub(crate) fn find(&self, places: usize) -> Result<Vec<CK_OBJECT_HANDLE>, CK_RV> {
        let mut active = self.active();
        let found = active.found.as_mut().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
        Ok(found.take(places).collect())
    }

    pub(crate) fn find_end(&self) -> Result<(), CK_RV> {
        let ended = self.active().found.take();
        ended.map(drop).ok_or(CKR_OPERATION_NOT_INITIALIZED)
    }

    pub(crate) fn sign_begin(
        &self,
        mechanism: &Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<(), CK_RV> {
        let mut active = self.active();
        free(&active.signature)?;
        let key = self.key(key, CKO_PRIVATE_KEY)?;
        let signing = mechanisms::signing(mechanism, key.public())?;
        key.check(&signing)?;
        if !key.signs() {
            return Err(CKR_KEY_FUNCTION_NOT_PERMITTED);
        }
        begin(&mut active.signature, Signature::new(key, signing));
        Ok(())
    }

    pub(crate) fn sign(&self, data: &[u8], room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().signature, |place| {
            let signature = place.as_ref().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
            whole(signature.is_in_parts())?;
            signed(place, data, room)
        })
    }

    pub(crate) fn sign_update(&self, part: &[u8]) -> Result<(), CK_RV> {
        ends(&mut self.active().signature, |place| update(place, part))
    }

    pub(crate) fn sign_end(&self, room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().signature, |place| {
            signed(place, &[], room)
        })
    }

    pub(crate) fn verify_begin(
        &self,
        mechanism: &Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<(), CK_RV> {
        let mut active = self.active();
        free(&active.verification)?;
        let key = self.key(key, CKO_PUBLIC_KEY)?;
        let signing = mechanisms::signing(mechanism, key.public())?;
        begin(&mut active.verification, Signature::new(key, signing));
        Ok(())
    }

    pub(crate) fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CK_RV> {
        ends(&mut self.active().verification, |place| {
            whole(place.as_ref().is_some_and(Signature::is_in_parts))?;
            verified(place, data, signature)
        })
    }

    pub(crate) fn verify_update(&self, part: &[u8]) -> Result<(), CK_RV> {
        ends(&mut self.active().verification, |place| update(place, part))
    }

    pub(crate) fn verify_end(&self, signature: &[u8]) -> Result<(), CK_RV> {
        ends(&mut self.active().verification, |place| {
            verified(place, &[], signature)
        })
    }

    pub(crate) fn encrypt_begin(
        &self,
        mechanism: &Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<(), CK_RV> {
        let mut active = self.active();
        free(&active.encryption)?;
        let key = self.key(key, CKO_PUBLIC_KEY)?;
        let scheme = mechanisms::encryption(mechanism, key.public())?;
        begin(&mut active.encryption, Encryption::new(key, scheme));
        Ok(())
    }

    pub(crate) fn encrypt(&self, data: &[u8], room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().encryption, |place| {
            whole(place.as_ref().is_some_and(Encryption::is_in_parts))?;
            encrypted(place, data, room)
        })
    }

    pub(crate) fn encrypt_update(&self, part: &[u8], room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().encryption, |place| {
            collect(place, part, room)
        })
    }

    pub(crate) fn encrypt_end(&self, room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().encryption, |place| {
            encrypted(place, &[], room)
        })
    }

    pub(crate) fn decrypt_begin(
        &self,
        mechanism: &Mechanism<'_>,
        key: CK_OBJECT_HANDLE,
    ) -> Result<(), CK_RV> {
        let mut active = self.active();
        free(&active.decryption)?;
        let key = self.key(key, CKO_PRIVATE_KEY)?;
        let scheme = mechanisms::encryption(mechanism, key.public())?;
        if !key.decrypts() {
            return Err(CKR_KEY_FUNCTION_NOT_PERMITTED);
        }
        begin(&mut active.decryption, Encryption::new(key, scheme));
        Ok(())
    }

    pub(crate) fn decrypt(&self, data: &[u8], room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().decryption, |place| {
            whole(place.as_ref().is_some_and(Encryption::is_in_parts))?;
            decrypted(place, data, room)
        })
    }

    pub(crate) fn decrypt_update(&self, part: &[u8], room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().decryption, |place| {
            collect(place, part, room)
        })
    }

    pub(crate) fn decrypt_end(&self, room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().decryption, |place| {
            decrypted(place, &[], room)
        })
    }

    pub(crate) fn digest_begin(&self, mechanism: &Mechanism<'_>) -> Result<(), CK_RV> {
        let mut active = self.active();
        free(&active.digest)?;
        begin(
            &mut active.digest,
            Hashing::new(mechanisms::digest(mechanism)?),
        );
        Ok(())
    }

    pub(crate) fn digest(&self, data: &[u8], room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().digest, |place| {
            whole(place.as_ref().is_some_and(Hashing::is_in_parts))?;
            hashed(place, data, room)
        })
    }

    pub(crate) fn digest_update(&self, part: &[u8]) -> Result<(), CK_RV> {
        ends(&mut self.active().digest, |place| {
            place.iter_mut().for_each(|digest| digest.update(part));
            Ok(())
        })
    }

    pub(crate) fn digest_end(&self, room: Room) -> Result<(), CK_RV> {
        ends(&mut self.active().digest, |place| hashed(place, &[], room))
    }
}

fn update(place: &mut Option<Signature>, part: &[u8]) -> Result<(), CK_RV> {
    let signature = place.as_mut().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
    signature.update(part)
}

fn signed(place: &mut Option<Signature>, data: &[u8], room: Room) -> Result<(), CK_RV> {
    let bytes = place.as_ref().map_or(0, Signature::bytes);
    match room.holds(bytes)? {
        false => Ok(()),
        true => {
            let signature = place.take().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
            room.fill(&signature.sign(data)?)
        }
    }
}

fn verified(place: &mut Option<Signature>, data: &[u8], signature: &[u8]) -> Result<(), CK_RV> {
    let verification = place.take().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
    verification.verify(data, signature)
}

/// Keeps a part. What comes of it comes at the end.
fn collect(place: &mut Option<Encryption>, part: &[u8], room: Room) -> Result<(), CK_RV> {
    if !room.holds(0)? {
        return Ok(());
    }
    let encryption = place.as_mut().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
    encryption.update(part)?;
    room.fill(&[])
}

fn encrypted(place: &mut Option<Encryption>, data: &[u8], room: Room) -> Result<(), CK_RV> {
    let bytes = place.as_ref().map_or(0, Encryption::bytes_max);
    match room.holds(bytes)? {
        false => Ok(()),
        true => {
            let encryption = place.take().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
            room.fill(&encryption.encrypt(data)?)
        }
    }
}

/// The length of a message is known when it has been decrypted. If it does not fit, it is kept for the next call, which has
/// to ask for the same one.
fn decrypted(place: &mut Option<Encryption>, data: &[u8], room: Room) -> Result<(), CK_RV> {
    let decryption = place.as_mut().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
    if room.is_question() {
        return room.holds(decryption.message_bytes(data)).map(drop);
    }
    let message = decryption.decrypt(data)?;
    if let Err(code) = room.holds(message.len()) {
        decryption.keep(data, message);
        return Err(code);
    }
    *place = None;
    room.fill(&message)
}

fn hashed(place: &mut Option<Hashing>, data: &[u8], room: Room) -> Result<(), CK_RV> {
    let bytes = place.as_ref().map_or(0, Hashing::bytes);
    match room.holds(bytes)? {
        false => Ok(()),
        true => {
            let digest = place.take().ok_or(CKR_OPERATION_NOT_INITIALIZED)?;
            room.fill(&digest.finish(data))
        }
    }
}
