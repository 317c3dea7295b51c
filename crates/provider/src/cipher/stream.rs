//! Counter modes and ChaCha20.
#![allow(unsafe_code)]

use oarlock::StreamContext;
use oarlock::device::Operation;

use super::{got, set};
use crate::abi::{Param, Params};
use crate::dispatch::{Cipher, Data, Direction};
use crate::error::Reason;
use crate::provider::Provider;

#[derive(Clone)]
pub(super) struct Stream {
    context: StreamContext,
    operation: Operation,
    /// As it was set.
    iv: [u8; IV_BYTES],
    has_padding: bool,
}

const IV_BYTES: usize = 16;

impl Cipher for Stream {
    const GETTABLE: &'static [Param] = &[
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::uint(c"padding"),
        Param::uint(c"num"),
        Param::octets(c"iv"),
        Param::octets(c"updated-iv"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[Param::uint(c"padding"), Param::uint(c"num"), Param::END];

    #[inline(always)]
    fn new(provider: &Provider, operation: Operation) -> Option<Self> {
        Some(Self {
            context: provider.accelerator.stream_context(operation).ok()?,
            operation,
            iv: [0; IV_BYTES],
            has_padding: true,
        })
    }

    fn init(
        &mut self,
        _direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Reason> {
        if let Some(iv) = iv {
            self.iv = iv.try_into().map_err(|_| Reason::InvalidIvLength)?;
            let counter = self.counter_of(self.iv);
            self.context.set_counter(counter, 0);
        } else if !self.is_chacha() || key.is_some() {
            // What was left of a block is not used any more.
            self.context.set_counter(self.next_counter(), 0);
        }
        if let Some(key) = key {
            self.context
                .set_key(key)
                .map_err(|_| Reason::InvalidKeyLength)?;
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, data: Data) -> Result<usize, Reason> {
        if !self.context.is_keyed() {
            return Err(Reason::NoKeySet);
        }
        if data.input_bytes == 0 {
            return Ok(0);
        }
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        if data.output.is_null() || data.input.is_null() {
            return Err(Reason::CipherOperationFailed);
        }
        // SAFETY: neither is null, and the output has room.
        unsafe { data.crypt(0, data.input_bytes, |data| self.context.apply(data)) };
        Ok(data.input_bytes)
    }

    fn finish(&mut self, _data: Data) -> Result<usize, Reason> {
        if self.context.is_keyed() {
            Ok(0)
        } else {
            Err(Reason::NoKeySet)
        }
    }

    fn cipher(&mut self, data: Data) -> Result<usize, Reason> {
        self.update(data)
    }

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            set(match key {
                b"keylen" => value.set_number(self.operation.key_bytes()),
                b"ivlen" => value.set_number(IV_BYTES),
                b"updated-iv" => value.set_octets_or_ptr(&self.updated_iv()),
                _ if self.is_chacha() => true,
                b"padding" => value.set_number(self.has_padding.into()),
                b"num" => value.set_number(self.context.counter().1),
                b"iv" => value.set_octets_or_ptr(&self.iv),
                _ => true,
            })
        })
    }

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            match key {
                b"keylen" if self.is_chacha() => {
                    if got(value.number())? != self.operation.key_bytes() {
                        return Err(Reason::InvalidKeyLength);
                    }
                }
                b"ivlen" if self.is_chacha() => {
                    if got(value.number())? != IV_BYTES {
                        return Err(Reason::InvalidIvLength);
                    }
                }
                b"padding" => self.has_padding = got(value.number())? != 0,
                // The default provider goes on within a keystream that nobody could have saved.
                b"num" if got(value.number())? != self.context.counter().1 => {
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
        self.operation == Operation::ChaCha20
    }

    /// ChaCha20's IV is the block counter, little-endian, and the nonce.
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

    /// Of the first block that is not begun.
    fn next_counter(&self) -> u128 {
        let (counter, skip) = self.context.counter();
        if skip == 0 {
            counter
        } else if self.is_chacha() && counter as u32 == u32::MAX {
            // Into the nonce's first word, as the default provider carries.
            let word = ((counter >> 96) as u32).swap_bytes().wrapping_add(1);
            u128::from(word.swap_bytes()) << 96 | counter & (u128::MAX >> 32 ^ 0xffff_ffff)
        } else {
            counter.wrapping_add(1)
        }
    }

    fn updated_iv(&self) -> [u8; IV_BYTES] {
        self.iv_of(self.next_counter())
    }
}
