//! Ciphers that count their requests, for `oarlock run --stats`. They have their own tables, so uncounted ciphers pay
//! nothing.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::Arc;

use oarlock::Algorithm;
use oarlock::Direction;
use oarlock_engine::costs::{ContextEvent, Usage};

use crate::abi::{Param, Params};
use crate::dispatch::{Cipher, Data, Offered};
use crate::error::Reason;
use crate::host::Host;
use crate::libcrypto::Libcrypto;
use crate::provider::Provider;

/// Opens the counters that the configuration names. If they cannot be opened, nothing is counted: the process may have
/// changed its user, or run in a sandbox.
///
/// `of_core` is a function of the libcrypto that loads the provider; its file is recorded in the counters.
pub(crate) fn usage(stats: Option<&str>, of_core: *const c_void) -> Option<Arc<Usage>> {
    let usage = Usage::open(Path::new(stats?)).ok()?;
    let libcrypto = Libcrypto::of(of_core);
    let file = libcrypto.as_ref().and_then(Libcrypto::file);
    usage.record_library(file.as_deref());
    Some(Arc::new(usage))
}

/// The counted form of an algorithm.
pub(crate) struct CountedOffer<A>(PhantomData<A>);

impl<A: Offered> Offered for CountedOffer<A> {
    type Cipher = Counted<A::Cipher>;
    const OPERATION: Algorithm = A::OPERATION;

    fn get_params(params: Params<'_>) -> Result<(), Reason> {
        A::get_params(params)
    }
}

pub(crate) struct Counted<C> {
    cipher: C,
    /// Always present: this cipher is chosen only if the counters could be opened.
    usage: Option<Arc<Usage>>,
    operation: Algorithm,
    direction: Direction,
}

impl<C: Cipher> Cipher for Counted<C> {
    fn gettable(operation: Algorithm, host: Host) -> &'static [Param] {
        C::gettable(operation, host)
    }

    fn settable(operation: Algorithm) -> &'static [Param] {
        C::settable(operation)
    }

    fn put(place: &mut MaybeUninit<Self>, provider: &Provider, operation: Algorithm) {
        let mut cipher = MaybeUninit::uninit();
        C::put(&mut cipher, provider, operation);
        place.write(Self {
            // SAFETY: `put` wrote all of the cipher.
            cipher: unsafe { cipher.assume_init() },
            usage: provider.usage.clone(),
            operation,
            direction: Direction::Encrypt,
        });
    }

    fn copy_to(&self, copy: &mut Self) {
        self.count_event(ContextEvent::Copied);
        self.cipher.copy_to(&mut copy.cipher);
        copy.direction = self.direction;
    }

    fn init(
        &mut self,
        provider: &Provider,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Reason> {
        self.direction = direction;
        self.cipher.init(provider, direction, key, iv)?;
        match (key, iv) {
            (Some(_), _) => self.count_event(ContextEvent::Keyed),
            (None, Some(_)) => self.count_event(ContextEvent::Iv),
            (None, None) => {}
        }
        Ok(())
    }

    fn update(&mut self, data: Data) -> Result<usize, Reason> {
        let written = self.cipher.update(data)?;
        self.count(data);
        Ok(written)
    }

    fn finish(&mut self, data: Data) -> Result<usize, Reason> {
        self.cipher.finish(data)
    }

    fn cipher(&mut self, data: Data) -> Result<usize, Reason> {
        let written = self.cipher.cipher(data)?;
        self.count(data);
        Ok(written)
    }

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        self.cipher.get_params(params)
    }

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        self.cipher.set_params(params)
    }
}

impl<C> Counted<C> {
    fn count_event(&self, event: ContextEvent) {
        if let Some(usage) = &self.usage {
            usage.record_context(self.operation, self.direction, event);
        }
    }

    /// Counts a request. Associated data and the ends of messages do not count.
    fn count(&self, data: Data) {
        if let Some(usage) = &self.usage
            && !data.output.is_null()
            && !data.input.is_null()
            && data.input_bytes > 0
        {
            usage.record(self.operation, self.direction, data.input_bytes);
        }
    }
}
