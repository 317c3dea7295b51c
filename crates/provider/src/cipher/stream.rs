//! Counter modes and ChaCha20.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr::null;

use oarlock::Algorithm;
use oarlock::Direction;
use oarlock_engine::cipher::StreamContext;

use super::values::{got, set};
use crate::abi::{Param, Params, Value};
use crate::dispatch::{Cipher, Data, write_fields};
use crate::error::Reason;
use crate::host::Host;
use crate::provider::Provider;

pub(super) struct Stream {
    /// Set with the first key.
    context: Option<StreamContext>,
    operation: Algorithm,
    direction: Direction,
    /// The IV as set.
    iv: [u8; IV_BYTES],
    /// A copy of the current IV for a caller that asked for a pointer to it.
    updated_iv: [u8; IV_BYTES],
    has_padding: bool,
    /// The version in OpenSSL's numbers; 0 outside TLS.
    tls_version: u32,
    tls_mac_bytes: usize,
    /// The MAC of the last record, in the caller's output buffer; only the caller reads it.
    tls_mac: *const u8,
}

const IV_BYTES: usize = 16;

impl Cipher for Stream {
    fn gettable(operation: Algorithm, _host: Host) -> &'static [Param] {
        match operation {
            Algorithm::ChaCha20 => {
                const {
                    &[
                        Param::size(c"keylen"),
                        Param::size(c"ivlen"),
                        Param::octets(c"updated-iv"),
                        Param::END,
                    ]
                }
            }
            _ => {
                const {
                    &[
                        Param::size(c"keylen"),
                        Param::size(c"ivlen"),
                        Param::uint(c"padding"),
                        Param::uint(c"num"),
                        Param::octets(c"iv"),
                        Param::octets(c"updated-iv"),
                        Param::octet_ptr(c"tls-mac"),
                        Param::END,
                    ]
                }
            }
        }
    }

    fn settable(operation: Algorithm) -> &'static [Param] {
        match operation {
            Algorithm::ChaCha20 => {
                const { &[Param::size(c"keylen"), Param::size(c"ivlen"), Param::END] }
            }
            _ => {
                const {
                    &[
                        Param::uint(c"padding"),
                        Param::uint(c"num"),
                        Param::uint(c"use-bits"),
                        Param::uint(c"tls-version"),
                        Param::size(c"tls-mac-size"),
                        Param::END,
                    ]
                }
            }
        }
    }

    #[inline(always)]
    fn put(place: &mut MaybeUninit<Self>, _provider: &Provider, operation: Algorithm) {
        write_fields!(
            place,
            Self {
                context: None,
                operation: operation,
                direction: Direction::Encrypt,
                iv: [0; IV_BYTES],
                updated_iv: [0; IV_BYTES],
                has_padding: true,
                tls_version: 0,
                tls_mac_bytes: 0,
                tls_mac: null(),
            }
        );
    }

    fn copy_to(&self, copy: &mut Self) {
        let Self {
            context,
            operation,
            direction,
            iv,
            updated_iv,
            has_padding,
            tls_version,
            tls_mac_bytes,
            tls_mac,
        } = self;
        if let Some(context) = context {
            context.clone_in(&mut copy.context);
        }
        copy.operation = *operation;
        copy.direction = *direction;
        copy.iv = *iv;
        copy.updated_iv = *updated_iv;
        copy.has_padding = *has_padding;
        copy.tls_version = *tls_version;
        copy.tls_mac_bytes = *tls_mac_bytes;
        copy.tls_mac = *tls_mac;
    }

    fn init(
        &mut self,
        provider: &Provider,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Reason> {
        self.direction = direction;
        let counter = if let Some(iv) = iv {
            let Ok(iv) = iv.try_into() else {
                self.leave_block();
                return Err(Reason::InvalidIvLength);
            };
            self.iv = iv;
            Some(self.counter_of(self.iv))
        } else if !self.is_chacha() || key.is_some() {
            // The rest of a partly used block is dropped.
            Some(self.next_counter())
        } else {
            None
        };
        let keyed = match (&mut self.context, key) {
            (_, None) => Ok(()),
            (Some(context), Some(key)) => context.set_key(key),
            (place, Some(key)) => {
                let accelerator = &provider.accelerator;
                StreamContext::put(place, accelerator.as_ref(), self.operation, key)
            }
        };
        if let (Some(context), Some(counter)) = (&mut self.context, counter) {
            context.set_counter(counter, 0);
        }
        keyed.map_err(|_| Reason::InvalidKeyLength)
    }

    #[inline(always)]
    fn update(&mut self, data: Data) -> Result<usize, Reason> {
        let bytes = self.cipher(data)?;
        if self.tls_version > 0
            && self.direction == Direction::Decrypt
            && self.tls_mac_bytes > 0
            && bytes > 0
        {
            return self.without_mac(data, bytes);
        }
        Ok(bytes)
    }

    fn finish(&mut self, _data: Data) -> Result<usize, Reason> {
        if self.context.is_some() {
            Ok(0)
        } else {
            Err(Reason::NoKeySet)
        }
    }

    #[inline(always)]
    fn cipher(&mut self, data: Data) -> Result<usize, Reason> {
        let context = self.context.as_mut().ok_or(Reason::NoKeySet)?;
        if data.input_bytes == 0 {
            return Ok(0);
        }
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        if data.output.is_null() || data.input.is_null() {
            return Err(Reason::CipherOperationFailed);
        }
        // SAFETY: both pointers were checked not to be null, and the output to have room for the input.
        unsafe { data.crypt(0, data.input_bytes, |data| context.apply(data)) };
        Ok(data.input_bytes)
    }

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            set(match key {
                b"keylen" => value.set_number(self.operation.key_bytes() as u64),
                b"ivlen" => value.set_number(IV_BYTES as u64),
                b"updated-iv" => {
                    self.updated_iv = self.iv_of(self.next_counter());
                    value.set_octets_or_ptr(&self.updated_iv)
                }
                _ if self.is_chacha() => true,
                b"padding" => value.set_number(u32::from(self.has_padding)),
                b"num" => value.set_number(self.counter().1 as u32),
                b"iv" => value.set_octets_or_ptr(&self.iv),
                b"tls-mac" => value.set_octet_ptr(self.tls_mac, self.tls_mac_bytes),
                _ => true,
            })
        })
    }

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            if self.is_chacha() {
                return self.check_length(key, value);
            }
            match key {
                b"padding" => self.has_padding = got(value.number::<u32>())? != 0,
                // For modes that count in bits, which these do not.
                b"use-bits" => _ = got(value.number::<u32>())?,
                b"tls-version" => self.tls_version = got(value.number())?,
                b"tls-mac-size" => self.tls_mac_bytes = got(value.number::<u64>())? as usize,
                // The default provider would continue within keystream that no caller could have saved.
                b"num" if got(value.number::<u32>())? as usize != self.counter().1 => {
                    return Err(Reason::FailedToGetParameter);
                }
                _ => {}
            }
            Ok(())
        })
    }
}

impl Stream {
    fn is_chacha(&self) -> bool {
        self.operation == Algorithm::ChaCha20
    }

    /// Drops the rest of a partly used block. The default provider's generic initialization does this before it checks
    /// the lengths.
    #[cold]
    fn leave_block(&mut self) {
        let next = self.next_counter();
        if !self.is_chacha()
            && let Some(context) = &mut self.context
        {
            context.set_counter(next, 0);
        }
    }

    /// Checks a length that is set: ChaCha20 has one key length and one IV length.
    fn check_length(&self, key: &[u8], value: Value<'_>) -> Result<(), Reason> {
        match key {
            b"keylen" if got(value.number::<u64>())? != self.operation.key_bytes() as u64 => {
                Err(Reason::InvalidKeyLength)
            }
            b"ivlen" if got(value.number::<u64>())? != IV_BYTES as u64 => {
                Err(Reason::InvalidIvLength)
            }
            _ => Ok(()),
        }
    }

    /// Returns the length of a decrypted record of TLS 1.2 or older without the MAC at its end.
    #[cold]
    fn without_mac(&mut self, data: Data, bytes: usize) -> Result<usize, Reason> {
        let content_bytes = bytes
            .checked_sub(self.tls_mac_bytes)
            .ok_or(Reason::Silent)?;
        self.tls_mac = data.output.wrapping_add(content_bytes);
        Ok(content_bytes)
    }

    /// Converts an IV to a counter. ChaCha20's IV is the block counter, little-endian, then the nonce.
    fn counter_of(&self, iv: [u8; IV_BYTES]) -> u128 {
        let counter = u128::from_be_bytes(iv);
        if self.is_chacha() {
            counter << 32 | u128::from(((counter >> 96) as u32).swap_bytes())
        } else {
            counter
        }
    }

    fn iv_of(&self, counter: u128) -> [u8; IV_BYTES] {
        if self.is_chacha() {
            (counter >> 32 | u128::from((counter as u32).swap_bytes()) << 96).to_be_bytes()
        } else {
            counter.to_be_bytes()
        }
    }

    /// Returns the current counter, and the offset in its block. Without a key, the IV gives the counter.
    fn counter(&self) -> (u128, usize) {
        match &self.context {
            Some(context) => context.counter(),
            None => (self.counter_of(self.iv), 0),
        }
    }

    /// Returns the counter of the first unused block.
    fn next_counter(&self) -> u128 {
        let (counter, skip) = self.counter();
        if skip == 0 {
            counter
        } else if self.is_chacha() && counter as u32 == u32::MAX {
            // The carry goes into the nonce's first word, as in the default provider.
            let word = ((counter >> 96) as u32).swap_bytes().wrapping_add(1);
            u128::from(word.swap_bytes()) << 96 | counter & (u128::MAX >> 32 ^ 0xffff_ffff)
        } else {
            counter.wrapping_add(1)
        }
    }
}
