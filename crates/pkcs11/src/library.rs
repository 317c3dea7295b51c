//! What C_Initialize makes and C_Finalize ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cryptoki_sys::*;
use oarlock::{Accelerator, Threads};

use crate::config;
use crate::report::tell;
use crate::session::{SESSIONS_MAX, Session, Sessions};
use crate::token::Token;

/// The state between C_Initialize and C_Finalize.
pub(crate) struct Library {
    pub(crate) tokens: Vec<Arc<Token>>,
    sessions: Sessions,
    open: AtomicUsize,
}

impl Library {
    /// Reads the configuration. No key is read, and nothing is asked, before a session is opened.
    pub(crate) fn new(may_start_threads: bool) -> Result<Self, CK_RV> {
        let config = config::read().map_err(|why| {
            tell(&why);
            CKR_GENERAL_ERROR
        })?;
        let builder = Accelerator::builder()
            .guest()
            .max_threads(Threads::Auto)
            .environment();
        let mut accelerator = builder.build();
        if !may_start_threads {
            accelerator = Accelerator::builder().guest().max_threads(0).build();
        }
        let accelerator = accelerator.map_err(|error| {
            tell(&error.to_string());
            CKR_GENERAL_ERROR
        })?;
        let tokens = config.tokens.into_iter().zip(0..);
        let tokens =
            tokens.map(|(token, slot)| Arc::new(Token::new(slot, token, accelerator.clone())));
        Ok(Self {
            tokens: tokens.collect(),
            sessions: Sessions::new(),
            open: AtomicUsize::new(0),
        })
    }

    pub(crate) fn token(&self, slot: CK_SLOT_ID) -> Result<&Arc<Token>, CK_RV> {
        let slot = usize::try_from(slot).map_err(|_| CKR_SLOT_ID_INVALID)?;
        self.tokens.get(slot).ok_or(CKR_SLOT_ID_INVALID)
    }

    pub(crate) fn session(&self, handle: CK_SESSION_HANDLE) -> Result<Arc<Session>, CK_RV> {
        self.sessions.get(handle)
    }

    pub(crate) fn open(
        &self,
        slot: CK_SLOT_ID,
        flags: CK_FLAGS,
    ) -> Result<CK_SESSION_HANDLE, CK_RV> {
        let token = self.token(slot)?;
        if flags & CKF_SERIAL_SESSION == 0 {
            return Err(CKR_SESSION_PARALLEL_NOT_SUPPORTED);
        }
        token.refresh()?;
        if self.open.fetch_add(1, Ordering::Relaxed) >= SESSIONS_MAX {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(CKR_SESSION_COUNT);
        }
        let session = Session::new(Arc::clone(token), flags);
        token.opened(session.is_writing());
        Ok(self.sessions.open(session))
    }

    pub(crate) fn close(&self, handle: CK_SESSION_HANDLE) -> Result<(), CK_RV> {
        self.closed(&*self.sessions.close(handle)?);
        Ok(())
    }

    pub(crate) fn close_all(&self, slot: CK_SLOT_ID) -> Result<(), CK_RV> {
        self.token(slot)?;
        let closed = self.sessions.close_all(slot);
        closed.iter().for_each(|session| self.closed(session));
        Ok(())
    }

    /// Ends what is open to other processes.
    pub(crate) fn end(&self) {
        self.tokens.iter().for_each(|token| token.close());
    }

    fn closed(&self, session: &Session) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        session.token.closed(session.is_writing());
    }
}
