//! AES-CBC: with PKCS #7 padding, without padding, and as TLS 1.2 and older use it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use oarlock::Algorithm;
use oarlock::Direction;
use oarlock_engine::cipher::CbcContext;
use zeroize::Zeroize;

use super::tls_padding::{self, Mac};
use super::values::{got, set};
use crate::abi::{Param, Params};
use crate::dispatch::{Cipher, Data, write_fields};
use crate::error::Reason;
use crate::host::Host;
use crate::provider::Provider;

const BLOCK_BYTES: usize = 16;

pub(super) struct Cbc {
    /// Set with the first key.
    context: Option<CbcContext>,
    operation: Algorithm,
    direction: Direction,
    /// The IV as set; each init without an IV returns to it.
    iv: [u8; BLOCK_BYTES],
    has_iv: bool,
    /// A copy of the current IV for a caller that asked for a pointer to it.
    updated_iv: [u8; BLOCK_BYTES],
    /// Input that waits for the rest of its block or, if padding is to be removed, for more input.
    held: [u8; BLOCK_BYTES],
    held_bytes: usize,
    has_padding: bool,
    num: u32,
    /// The version in OpenSSL's numbers; 0 outside TLS.
    tls_version: u32,
    tls_mac_bytes: usize,
    /// The MAC of the last record opened.
    tls_mac: Option<Mac>,
}

impl Cipher for Cbc {
    fn gettable(_operation: Algorithm, _host: Host) -> &'static [Param] {
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

    fn settable(_operation: Algorithm) -> &'static [Param] {
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

    #[inline(always)]
    fn put(place: &mut MaybeUninit<Self>, _provider: &Provider, operation: Algorithm) {
        write_fields!(
            place,
            Self {
                context: None,
                operation: operation,
                direction: Direction::Encrypt,
                iv: [0; BLOCK_BYTES],
                has_iv: false,
                updated_iv: [0; BLOCK_BYTES],
                held: [0; BLOCK_BYTES],
                held_bytes: 0,
                has_padding: true,
                num: 0,
                tls_version: 0,
                tls_mac_bytes: 0,
                tls_mac: None,
            }
        );
    }

    fn copy_to(&self, copy: &mut Self) {
        let Self {
            context,
            operation,
            direction,
            iv,
            has_iv,
            updated_iv,
            held,
            held_bytes,
            has_padding,
            num,
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
        copy.has_iv = *has_iv;
        copy.updated_iv = *updated_iv;
        copy.held = *held;
        copy.held_bytes = *held_bytes;
        copy.has_padding = *has_padding;
        copy.num = *num;
        copy.tls_version = *tls_version;
        copy.tls_mac_bytes = *tls_mac_bytes;
        copy.tls_mac = tls_mac.clone();
    }

    fn init(
        &mut self,
        provider: &Provider,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Reason> {
        self.direction = direction;
        self.num = 0;
        self.held_bytes = 0;
        if let Some(iv) = iv {
            self.iv = iv.try_into().map_err(|_| Reason::InvalidIvLength)?;
            self.has_iv = true;
        }
        let keyed = match (&mut self.context, key) {
            (_, None) => Ok(()),
            (Some(context), Some(key)) => context.set_key(key),
            (place, Some(key)) => {
                let accelerator = &provider.accelerator;
                CbcContext::put(place, accelerator.as_ref(), self.operation, key)
            }
        };
        if let Some(context) = &mut self.context {
            if self.has_iv {
                context.set_iv(self.iv);
            }
            if direction == Direction::Decrypt {
                let prepared = context.prepare_to_decrypt();
                prepared.map_err(|_| Reason::CipherOperationFailed)?;
            }
        }
        keyed.map_err(|_| Reason::InvalidKeyLength)
    }

    /// Handles whole blocks of a message without padding to remove, the most frequent case. Every instruction counts
    /// for short calls, so the other cases are in a function of their own and this one keeps its values in registers.
    #[inline(always)]
    fn update(&mut self, data: Data) -> Result<usize, Reason> {
        if self.tls_version == 0
            && self.held_bytes == 0
            && !self.holds_back()
            && let Some(done) = self.whole_blocks_at_once(data)
        {
            return done;
        }
        self.other_update(data.output, data.output_bytes, data.input, data.input_bytes)
    }

    fn finish(&mut self, data: Data) -> Result<usize, Reason> {
        if self.context.is_none() {
            return Err(Reason::NoKeySet);
        }
        // A record is complete when its update returns.
        if self.tls_version > 0 {
            return Err(Reason::CipherOperationFailed);
        }
        match self.direction {
            Direction::Encrypt => self.finish_encryption(data),
            Direction::Decrypt => self.finish_decryption(data),
        }
    }

    #[inline(always)]
    fn cipher(&mut self, data: Data) -> Result<usize, Reason> {
        if let Some(done) = self.whole_blocks_at_once(data) {
            return done;
        }
        if self.context.is_none() {
            return Err(Reason::NoKeySet);
        }
        if !data.input_bytes.is_multiple_of(BLOCK_BYTES) {
            return Err(Reason::CipherOperationFailed);
        }
        self.whole_blocks(data)
    }

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            set(match key {
                b"keylen" => value.set_number(self.operation.key_bytes() as u64),
                b"ivlen" => value.set_number(BLOCK_BYTES as u64),
                b"padding" => value.set_number(u32::from(self.has_padding)),
                b"num" => value.set_number(self.num),
                b"iv" => value.set_octets_or_ptr(&self.iv),
                b"updated-iv" => {
                    self.updated_iv = self.context.as_ref().map_or(self.iv, CbcContext::iv);
                    value.set_octets_or_ptr(&self.updated_iv)
                }
                b"tls-mac" => {
                    let mac = self.tls_mac.as_ref();
                    let mac = mac.map_or(std::ptr::null(), |mac| mac.bytes.as_ptr());
                    value.set_octet_ptr(mac, self.tls_mac_bytes)
                }
                _ => true,
            })
        })
    }

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            match key {
                b"padding" => self.has_padding = got(value.number::<u32>())? != 0,
                // Releases before 3.0.22 accept any value of this offset within a block.
                b"num" => {
                    let num = got(value.number::<u32>())?;
                    if num as usize >= BLOCK_BYTES {
                        return Err(Reason::FailedToGetParameter);
                    }
                    self.num = num;
                }
                // For modes that count in bits, which this is not.
                b"use-bits" => _ = got(value.number::<u32>())?,
                b"tls-version" => self.tls_version = got(value.number())?,
                b"tls-mac-size" => {
                    let bytes = got(value.number::<u64>())? as usize;
                    if bytes != self.tls_mac_bytes {
                        self.tls_mac = None;
                    }
                    self.tls_mac_bytes = bytes;
                }
                _ => {}
            }
            Ok(())
        })
    }
}

impl Cbc {
    /// Returns whether the last block of the input must wait, since it may end in padding.
    #[inline(always)]
    fn holds_back(&self) -> bool {
        self.direction == Direction::Decrypt && self.has_padding
    }

    /// Processes whole blocks; returns `None` if there is anything else to do or to refuse.
    #[inline(always)]
    fn whole_blocks_at_once(&mut self, data: Data) -> Option<Result<usize, Reason>> {
        let bytes = data.input_bytes;
        if bytes == 0
            || !bytes.is_multiple_of(BLOCK_BYTES)
            || bytes > data.output_bytes
            || data.input.is_null()
            || data.output.is_null()
        {
            return None;
        }
        let context = self.context.as_mut()?;
        // SAFETY: OpenSSL's caller vouches for the input, and the output was checked to have room for its length.
        let blocks = unsafe { data.in_place_or_apart() }?;
        let done = match self.direction {
            Direction::Encrypt => context.encrypt(blocks),
            Direction::Decrypt => context.decrypt(blocks),
        };
        Some(done.map_or(Err(Reason::CipherOperationFailed), |()| Ok(bytes)))
    }

    /// Handles all other cases. Takes words, because a value passed by address would keep [`update`](Cipher::update)'s
    /// in memory, too.
    #[inline(never)]
    fn other_update(
        &mut self,
        output: *mut u8,
        output_bytes: usize,
        input: *const u8,
        input_bytes: usize,
    ) -> Result<usize, Reason> {
        let data = Data {
            output,
            output_bytes,
            input,
            input_bytes,
        };
        if self.context.is_none() {
            return Err(Reason::NoKeySet);
        }
        if self.tls_version > 0 {
            return self.record(data);
        }
        let holds_back = self.holds_back();
        if data.input_bytes == 0 {
            // A block was held back before padding was switched off.
            return if self.held_bytes == BLOCK_BYTES && !holds_back {
                self.late_block(data)
            } else {
                Ok(0)
            };
        }
        if data.input.is_null() || data.output.is_null() {
            return Err(Reason::CipherOperationFailed);
        }
        if self.held_bytes == 0 && !holds_back && data.input_bytes.is_multiple_of(BLOCK_BYTES) {
            return self.whole_blocks(data);
        }
        if holds_back
            && self.held_bytes == BLOCK_BYTES
            && data.input_bytes.is_multiple_of(BLOCK_BYTES)
        {
            return self.one_block_later(data);
        }
        self.buffered(data, holds_back)
    }

    fn whole_blocks(&mut self, data: Data) -> Result<usize, Reason> {
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        self.crypt(data, 0, data.input_bytes)?;
        Ok(data.input_bytes)
    }

    /// Processes whole blocks from offset `at`. The output has room for them.
    fn crypt(&mut self, data: Data, at: usize, bytes: usize) -> Result<(), Reason> {
        let context = self.context.as_mut().ok_or(Reason::NoKeySet)?;
        // SAFETY: the callers checked the lengths, and OpenSSL's caller vouches for the buffers.
        unsafe {
            data.crypt(at, bytes, |blocks| match self.direction {
                Direction::Encrypt => context.encrypt(blocks),
                Direction::Decrypt => context.decrypt(blocks),
            })
        }
        .map_err(|_| Reason::CipherOperationFailed)
    }

    fn crypt_held(&mut self) -> Result<(), Reason> {
        let Self { context, held, .. } = self;
        let context = context.as_mut().ok_or(Reason::NoKeySet)?;
        match self.direction {
            Direction::Encrypt => context.encrypt((&mut held[..]).into()),
            Direction::Decrypt => context.decrypt((&mut held[..]).into()),
        }
        .map_err(|_| Reason::CipherOperationFailed)
    }

    /// Processes whole blocks and holds the rest, including the last block if it may be padded.
    fn buffered(&mut self, data: Data, holds_back: bool) -> Result<usize, Reason> {
        let taken = (BLOCK_BYTES - self.held_bytes).min(data.input_bytes);
        let taken = if self.held_bytes > 0 { taken } else { 0 };
        let rest = data.input_bytes - taken;
        let fills = self.held_bytes + taken == BLOCK_BYTES && (rest > 0 || !holds_back);
        let mut whole = rest - rest % BLOCK_BYTES;
        if holds_back && whole == rest && whole > 0 {
            whole -= BLOCK_BYTES;
        }
        let first = if fills { BLOCK_BYTES } else { 0 };
        if data.output_bytes < first + whole {
            return Err(Reason::OutputBufferTooSmall);
        }
        // SAFETY: OpenSSL's caller vouches for the input. The output may overlap it, so the bytes needed later are
        // copied before anything is written.
        let (last, last_bytes) = unsafe {
            let input = data.input();
            self.held[self.held_bytes..self.held_bytes + taken].copy_from_slice(&input[..taken]);
            self.held_bytes += taken;
            let rest = &input[taken + whole..];
            let mut last = [0; BLOCK_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            (last, rest.len())
        };
        if fills {
            self.put_out_held_and(data, taken, whole)?;
            self.held_bytes = 0;
        } else if whole > 0 {
            let from = Data {
                input: data.input.wrapping_add(taken),
                ..data
            };
            self.crypt(from, 0, whole)?;
        }
        if last_bytes > 0 {
            self.held = last;
            self.held_bytes = last_bytes;
        }
        Ok(first + whole)
    }

    /// Writes the held block, without new input.
    #[cold]
    fn late_block(&mut self, data: Data) -> Result<usize, Reason> {
        if data.output_bytes < BLOCK_BYTES {
            return Err(Reason::OutputBufferTooSmall);
        }
        if data.output.is_null() {
            return Err(Reason::CipherOperationFailed);
        }
        self.crypt_held()?;
        // SAFETY: the output was checked to have room for a block, and is not part of this context.
        unsafe {
            self.held
                .as_ptr()
                .copy_to_nonoverlapping(data.output, BLOCK_BYTES)
        };
        self.held.zeroize();
        self.held_bytes = 0;
        Ok(BLOCK_BYTES)
    }

    /// Processes whole blocks while one is held back, the usual case within a long message that may be padded.
    fn one_block_later(&mut self, data: Data) -> Result<usize, Reason> {
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        let whole = data.input_bytes - BLOCK_BYTES;
        // SAFETY: OpenSSL's caller vouches for the input, of which this is the last block; a block needs no alignment.
        let last = unsafe { data.input.add(whole).cast::<[u8; BLOCK_BYTES]>().read() };
        self.put_out_held_and(data, 0, whole)?;
        self.held = last;
        Ok(data.input_bytes)
    }

    /// Writes the held block, then `whole` bytes of whole blocks of the input from `at`. The output has room for all of
    /// them.
    #[inline(always)]
    fn put_out_held_and(&mut self, data: Data, at: usize, whole: usize) -> Result<(), Reason> {
        self.crypt_held()?;
        let mut block = u128::from_ne_bytes(self.held);
        if whole > 0 {
            // The input of these may lie where the held block goes, so they are processed before that is written.
            let after = Data {
                output: data.output.wrapping_add(BLOCK_BYTES),
                output_bytes: data.output_bytes - BLOCK_BYTES,
                input: data.input.wrapping_add(at),
                input_bytes: whole,
            };
            self.crypt(after, 0, whole)?;
        }
        // SAFETY: the output has room for one block more than the whole ones, as the callers checked.
        unsafe { data.output.cast::<u128>().write_unaligned(block) };
        block.zeroize();
        Ok(())
    }

    fn finish_encryption(&mut self, data: Data) -> Result<usize, Reason> {
        if self.has_padding {
            let padding_bytes = BLOCK_BYTES - self.held_bytes;
            self.held[self.held_bytes..].fill(padding_bytes as u8);
        } else if self.held_bytes == 0 {
            return Ok(0);
        } else {
            return Err(Reason::WrongFinalBlockLength);
        }
        if data.output_bytes < BLOCK_BYTES {
            return Err(Reason::OutputBufferTooSmall);
        }
        self.crypt_held()?;
        self.put_out_held(data, BLOCK_BYTES);
        Ok(BLOCK_BYTES)
    }

    fn finish_decryption(&mut self, data: Data) -> Result<usize, Reason> {
        if self.held_bytes != BLOCK_BYTES {
            return if self.held_bytes == 0 && !self.has_padding {
                Ok(0)
            } else {
                Err(Reason::WrongFinalBlockLength)
            };
        }
        self.crypt_held()?;
        let bytes = if self.has_padding {
            tls_padding::unpadded_bytes(&self.held).ok_or(Reason::BadDecrypt)?
        } else {
            BLOCK_BYTES
        };
        if data.output_bytes < bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        self.put_out_held(data, bytes);
        Ok(bytes)
    }

    fn put_out_held(&mut self, data: Data, bytes: usize) {
        if bytes > 0 {
            // SAFETY: the callers checked that the output has room, and it is not part of this context.
            unsafe {
                self.held
                    .as_ptr()
                    .copy_to_nonoverlapping(data.output, bytes)
            };
        }
        self.held.zeroize();
        self.held_bytes = 0;
    }

    /// Processes a whole record of TLS 1.2 or older, which has its own padding.
    fn record(&mut self, data: Data) -> Result<usize, Reason> {
        let mut bytes = data.input_bytes;
        if data.input.is_null()
            || !data.is_in_place()
            || data.output_bytes < bytes
            || !self.has_padding
        {
            return Err(Reason::CipherOperationFailed);
        }
        if self.direction == Direction::Encrypt {
            let padding_bytes = BLOCK_BYTES - bytes % BLOCK_BYTES;
            if data.output_bytes < bytes + padding_bytes {
                return Err(Reason::CipherOperationFailed);
            }
            // SAFETY: the output was checked to have room for the padding behind the content.
            unsafe {
                let place = data.output.add(bytes);
                let padding = std::slice::from_raw_parts_mut(place, padding_bytes);
                tls_padding::pad(padding, self.tls_version);
            }
            bytes += padding_bytes;
        }
        if !bytes.is_multiple_of(BLOCK_BYTES) {
            return Err(Reason::CipherOperationFailed);
        }
        self.crypt(data, 0, bytes)?;
        if self.direction == Direction::Encrypt {
            return Ok(bytes);
        }
        self.tls_mac = None;
        // SAFETY: the output holds `bytes` decrypted bytes, and no other thread writes to it during the call.
        let record = unsafe { std::slice::from_raw_parts(data.output, bytes) };
        let opened = tls_padding::open(record, self.tls_version, self.tls_mac_bytes)?;
        self.tls_mac = opened.mac;
        Ok(opened.bytes)
    }
}

impl Drop for Cbc {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}
