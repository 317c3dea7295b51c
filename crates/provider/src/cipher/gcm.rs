//! AES-GCM: message by message, and as TLS 1.2 and SSH use it.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use oarlock::Algorithm;
use oarlock::Direction;
use oarlock::aead::TAG_BYTES;
use oarlock_engine::aead::AeadContext;
use zeroize::Zeroize;

use super::iv::{IV_BYTES_MAX, Iv};
use super::secret::{are_equal, fill_with_random_bytes};
use super::values::{fixed, got, set};
use crate::abi::{Param, Params};
use crate::dispatch::{Cipher, Data, write_fields};
use crate::error::Reason;
use crate::host::Host;
use crate::provider::Provider;

const IV_BYTES: usize = 12;
/// The lengths of the two parts of an IV in TLS (RFC 5288, section 3): from the key block, and from the record.
const TLS_FIXED_BYTES: usize = 4;
const TLS_EXPLICIT_BYTES: usize = 8;
/// The length of the associated data of a TLS record (RFC 5246, 6.2.3.3).
const TLS_AAD_BYTES: usize = 13;

pub(super) struct Gcm {
    /// Set with the first key.
    context: Option<AeadContext>,
    operation: Algorithm,
    direction: Direction,
    iv: Iv,
    iv_state: IvState,
    /// Whether the IV, or a part of it, came from [`fill_with_random_bytes`].
    is_iv_random: bool,
    /// Whether the last eight bytes of the IV count messages.
    counts_ivs: bool,
    /// The tag, or the associated data of the record in the next call: the default provider uses one buffer for both,
    /// and callers can read either.
    tag: [u8; TAG_BYTES],
    tag_bytes: Option<usize>,
    has_tls_aad: bool,
    tls_padding_bytes: usize,
    tls_records: u64,
    host: Host,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IvState {
    None,
    /// Its message begins with the next call.
    Set,
    /// Its message has begun.
    InUse,
    /// Its message has ended; it must not serve another.
    Used,
}

impl Cipher for Gcm {
    fn gettable(_operation: Algorithm, host: Host) -> &'static [Param] {
        macro_rules! gettable {
            ($($more:expr)?) => {
                const {
                    &[
                        Param::size(c"keylen"),
                        Param::size(c"ivlen"),
                        Param::size(c"taglen"),
                        Param::octets(c"iv"),
                        Param::octets(c"updated-iv"),
                        Param::octets(c"tag"),
                        Param::size(c"tlsaadpad"),
                        Param::octets(c"tlsivgen"),
                        $($more,)?
                        Param::END,
                    ]
                }
            };
        }
        if host.has_iv_generated() {
            gettable!(Param::uint(c"iv-generated"))
        } else {
            gettable!()
        }
    }

    fn settable(_operation: Algorithm) -> &'static [Param] {
        const {
            &[
                Param::size(c"ivlen"),
                Param::octets(c"tag"),
                Param::octets(c"tlsaad"),
                Param::octets(c"tlsivfixed"),
                Param::octets(c"tlsivinv"),
                Param::END,
            ]
        }
    }

    #[inline(always)]
    fn put(place: &mut MaybeUninit<Self>, provider: &Provider, operation: Algorithm) {
        write_fields!(
            place,
            Self {
                context: None,
                operation: operation,
                direction: Direction::Encrypt,
                iv: Iv::zeros(IV_BYTES),
                iv_state: IvState::None,
                is_iv_random: false,
                counts_ivs: false,
                tag: [0; TAG_BYTES],
                tag_bytes: None,
                has_tls_aad: false,
                tls_padding_bytes: 0,
                tls_records: 0,
                host: provider.host,
            }
        );
    }

    fn copy_to(&self, copy: &mut Self) {
        let Self {
            context,
            operation,
            direction,
            iv,
            iv_state,
            is_iv_random,
            counts_ivs,
            tag,
            tag_bytes,
            has_tls_aad,
            tls_padding_bytes,
            tls_records,
            host,
        } = self;
        if let Some(context) = context {
            context.clone_in(&mut copy.context);
        }
        copy.operation = *operation;
        copy.direction = *direction;
        copy.iv = iv.clone();
        copy.iv_state = *iv_state;
        copy.is_iv_random = *is_iv_random;
        copy.counts_ivs = *counts_ivs;
        copy.tag = *tag;
        copy.tag_bytes = *tag_bytes;
        copy.has_tls_aad = *has_tls_aad;
        copy.tls_padding_bytes = *tls_padding_bytes;
        copy.tls_records = *tls_records;
        copy.host = *host;
    }

    fn init(
        &mut self,
        provider: &Provider,
        direction: Direction,
        key: Option<&[u8]>,
        iv: Option<&[u8]>,
    ) -> Result<(), Reason> {
        self.direction = direction;
        if let Some(iv) = iv {
            if iv.is_empty() || iv.len() > IV_BYTES_MAX {
                return Err(Reason::InvalidIvLength);
            }
            self.iv.set(iv);
            self.iv_state = IvState::Set;
            self.is_iv_random = false;
        }
        if let Some(key) = key {
            match &mut self.context {
                Some(context) => context.set_key(key),
                place => {
                    let accelerator = &provider.accelerator;
                    AeadContext::put(place, accelerator.as_ref(), self.operation, key)
                }
            }
            .map_err(|_| Reason::InvalidKeyLength)?;
            self.tls_records = 0;
            // A message in progress belonged to the old key.
            if self.iv_state == IvState::InUse {
                self.iv_state = IvState::Set;
            }
        }
        Ok(())
    }

    /// Handles associated data, and data of a message whose IV is in use. Every instruction counts for short messages,
    /// so the other cases are in a function of their own and this one keeps its values in registers.
    #[inline(always)]
    fn update(&mut self, data: Data) -> Result<usize, Reason> {
        let bytes = data.input_bytes;
        if bytes > 0
            && bytes <= data.output_bytes
            && !self.has_tls_aad
            && self.iv_state == IvState::InUse
            && !data.input.is_null()
            && !data.output.is_null()
            && let Some(context) = &mut self.context
            // SAFETY: OpenSSL's caller vouches for both buffers, and `bytes` is at most the output's length.
            && let Some(data) = unsafe { data.in_place_or_apart() }
        {
            return match self.direction {
                Direction::Encrypt => context.seal_next(data),
                Direction::Decrypt => context.open_next(data),
            }
            .map_or(Err(Reason::CipherOperationFailed), |()| Ok(bytes));
        }
        if data.is_aad() && !self.has_tls_aad && bytes > 0 && bytes <= data.output_bytes {
            return match self.aad(data.input, bytes) {
                Ok(()) => Ok(bytes),
                Err(Reason::Silent) => Err(Reason::CipherOperationFailed),
                Err(reason) => Err(reason),
            };
        }
        self.other_update(data.output, data.output_bytes, data.input, bytes)
    }

    #[inline(always)]
    fn finish(&mut self, _data: Data) -> Result<usize, Reason> {
        if self.has_tls_aad {
            self.has_tls_aad = false;
            self.iv_state = IvState::Used;
            return Err(Reason::Silent);
        }
        self.end()?;
        Ok(0)
    }

    fn cipher(&mut self, data: Data) -> Result<usize, Reason> {
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        if data.input.is_null() {
            return self.finish(data);
        }
        self.run(data)?;
        Ok(data.input_bytes)
    }

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(value) = params.only(c"tag") {
            return self.get_tag(value);
        }
        params.each(|key, value| {
            set(match key {
                b"keylen" => value.set_number(self.operation.key_bytes() as u64),
                b"ivlen" => value.set_number(self.iv.len() as u64),
                b"taglen" => value.set_number(self.tag_bytes.unwrap_or(TAG_BYTES) as u64),
                b"iv" | b"updated-iv" => {
                    if self.iv_state == IvState::None {
                        if !self.host.has_aeads_of_4_0() || self.has_tls_aad {
                            return Err(Reason::Silent);
                        }
                        self.draw_iv()?;
                    }
                    let asks_for_size = self.host.tells_sizes() && value.has_no_place();
                    if !asks_for_size && value.place_bytes() < self.iv.len() {
                        return Err(Reason::InvalidIvLength);
                    }
                    value.set_octets_or_ptr(self.iv.as_ref())
                }
                b"tlsaadpad" => value.set_number(self.tls_padding_bytes as u64),
                b"tag" => return self.get_tag(value),
                b"tlsivgen" => return self.get_next_iv(value),
                b"iv-generated" if self.host.has_iv_generated() => {
                    let is_set = value.set_number(u32::from(self.is_iv_random));
                    return if is_set { Ok(()) } else { Err(Reason::Silent) };
                }
                _ => true,
            })
        })
    }

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        if let Some(value) = params.only(c"tag") {
            return self.set_tag(value);
        }
        params.each(|key, value| match key {
            b"tag" => self.set_tag(value),
            b"ivlen" => {
                let bytes = got(value.number::<u64>())? as usize;
                if bytes == 0 || bytes > IV_BYTES_MAX {
                    return Err(Reason::InvalidIvLength);
                }
                if bytes != self.iv.len() {
                    if self.iv_state != IvState::None {
                        self.iv_state = IvState::Used;
                    }
                    self.iv.resize(bytes);
                }
                Ok(())
            }
            b"tlsaad" => {
                let aad = fixed::<TLS_AAD_BYTES>(got(value.octets())?).ok_or(Reason::InvalidAad)?;
                self.begin_record(aad)
            }
            b"tlsivfixed" => self.set_fixed_iv(got(value.octets())?),
            b"tlsivinv" => {
                let (explicit, bytes) = value.octets().ok_or(Reason::Silent)?;
                if explicit.is_null() || bytes > self.iv.len() {
                    return Err(Reason::Silent);
                }
                // SAFETY: the explicit part is not null and at most as long as the IV, and OpenSSL's caller vouches for
                // its length.
                let explicit = unsafe { std::slice::from_raw_parts(explicit, bytes) };
                self.take_explicit_iv(explicit)
            }
            _ => Ok(()),
        })
    }
}

impl Gcm {
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
        if data.input_bytes == 0 {
            return Ok(0);
        }
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        match self.run(data) {
            Err(Reason::Silent) => Err(Reason::CipherOperationFailed),
            done => done,
        }
    }

    /// Processes associated data, data, or a whole record.
    #[inline(always)]
    fn run(&mut self, data: Data) -> Result<usize, Reason> {
        if self.has_tls_aad {
            self.has_tls_aad = false;
            let done = self.record(data);
            self.iv_state = IvState::Used;
            return done;
        }
        if data.is_aad() {
            self.aad(data.input, data.input_bytes)?;
            return Ok(data.input_bytes);
        }
        if self.iv_state != IvState::InUse {
            self.begin()?;
        }
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        if data.input.is_null() {
            return Err(Reason::Silent);
        }
        // SAFETY: neither pointer is null here, since null output means associated data, and the callers checked that
        // the output has room for the input.
        let done = unsafe {
            match self.direction {
                Direction::Encrypt => {
                    data.crypt(0, data.input_bytes, |data| context.seal_next(data))
                }
                Direction::Decrypt => {
                    data.crypt(0, data.input_bytes, |data| context.open_next(data))
                }
            }
        };
        done.map_err(|_| Reason::Silent)?;
        Ok(data.input_bytes)
    }

    /// Adds associated data, not null, to the message; begins one first if none is in progress.
    #[inline(never)]
    fn aad(&mut self, aad: *const u8, bytes: usize) -> Result<(), Reason> {
        if self.iv_state != IvState::InUse {
            self.begin()?;
        }
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        // SAFETY: OpenSSL's caller vouches for the associated data, and nothing is written.
        let aad = unsafe { std::slice::from_raw_parts(aad, bytes) };
        context.aad(aad).map_err(|_| Reason::Silent)
    }

    /// Begins the message of the current IV, or of a random one if none was ever set.
    #[inline]
    fn begin(&mut self) -> Result<(), Reason> {
        if self.context.is_none() || self.iv_state == IvState::Used {
            return Err(Reason::Silent);
        }
        if self.iv_state == IvState::None {
            self.draw_iv()?;
        }
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        context
            .begin(self.iv.as_ref())
            .map_err(|_| Reason::Silent)?;
        self.iv_state = IvState::InUse;
        Ok(())
    }

    /// Draws a random IV for a message to seal (SP 800-38D, 8.2.2).
    fn draw_iv(&mut self) -> Result<(), Reason> {
        if self.direction == Direction::Decrypt || self.iv.len() < IV_BYTES {
            return Err(Reason::Silent);
        }
        fill_with_random_bytes(self.iv.as_mut())?;
        self.is_iv_random = true;
        self.iv_state = IvState::Set;
        Ok(())
    }

    #[inline]
    fn end(&mut self) -> Result<(), Reason> {
        if self.iv_state != IvState::InUse {
            self.begin()?;
        }
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        match self.direction {
            Direction::Encrypt => {
                context
                    .finish_in(&mut self.tag)
                    .map_err(|_| Reason::Silent)?;
                self.tag_bytes = Some(TAG_BYTES);
            }
            Direction::Decrypt => {
                let bytes = self.tag_bytes.ok_or(if self.host.has_aeads_of_4_0() {
                    Reason::TagNotSet
                } else {
                    Reason::Silent
                })?;
                let mut expected = [0; TAG_BYTES];
                context
                    .finish_in(&mut expected)
                    .map_err(|_| Reason::Silent)?;
                self.iv_state = IvState::Used;
                if !are_equal(&expected[..bytes], &self.tag[..bytes]) {
                    return Err(Reason::Silent);
                }
            }
        }
        self.iv_state = IvState::Used;
        Ok(())
    }

    #[inline(always)]
    fn set_tag(&mut self, value: crate::abi::Value<'_>) -> Result<(), Reason> {
        let (tag, bytes) = got(value.octets())?;
        if tag.is_null() || bytes > TAG_BYTES {
            return Err(Reason::FailedToGetParameter);
        }
        // SAFETY: the tag is not null and at most 16 bytes long, and OpenSSL's caller vouches for that length. A
        // full-length tag is moved without a call.
        unsafe {
            match bytes {
                TAG_BYTES => self.tag = tag.cast::<[u8; TAG_BYTES]>().read_unaligned(),
                bytes => tag.copy_to_nonoverlapping(self.tag.as_mut_ptr(), bytes),
            }
        }
        if bytes == 0 || self.direction == Direction::Encrypt {
            return Err(Reason::InvalidTag);
        }
        self.tag_bytes = Some(bytes);
        Ok(())
    }

    #[inline(always)]
    fn get_tag(&mut self, value: crate::abi::Value<'_>) -> Result<(), Reason> {
        let bytes = match self.tag_bytes {
            Some(bytes) if self.host.tells_sizes() && value.has_no_place() => bytes,
            _ => value.place_bytes(),
        };
        if bytes == 0
            || bytes > TAG_BYTES
            || self.direction == Direction::Decrypt
            || self.tag_bytes.is_none()
            // It would be the tag of the previous message.
            || self.iv_state == IvState::InUse
        {
            return Err(Reason::InvalidTag);
        }
        // A full-length tag is moved without a call.
        set(match bytes {
            TAG_BYTES => value.set_octets(&self.tag),
            bytes => value.set_octets(&self.tag[..bytes]),
        })
    }

    /// Copies the last bytes of the IV to the caller, then increments the IV (SP 800-38D, 8.2.1).
    fn get_next_iv(&mut self, value: crate::abi::Value<'_>) -> Result<(), Reason> {
        let (place, bytes) = value.octets_place().ok_or(Reason::Silent)?;
        if place.is_null() {
            return Err(Reason::Silent);
        }
        let bytes = match bytes {
            0 => self.iv.len(),
            bytes => bytes.min(self.iv.len()),
        };
        let last = self.next_iv()?;
        let last = &last.as_ref()[self.iv.len() - bytes..];
        // SAFETY: the caller's buffer has `bytes` bytes; a size of 0 means the length of an IV, as in the default
        // provider.
        unsafe { last.as_ptr().copy_to_nonoverlapping(place, bytes) };
        Ok(())
    }

    /// Begins the next message of a sequence and returns its IV.
    fn next_iv(&mut self) -> Result<Iv, Reason> {
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        if !self.counts_ivs || self.iv.len() < TLS_EXPLICIT_BYTES {
            return Err(Reason::Silent);
        }
        let iv = self.iv.clone();
        context.begin(iv.as_ref()).map_err(|_| Reason::Silent)?;
        self.count_iv();
        self.iv_state = IvState::InUse;
        Ok(iv)
    }

    fn count_iv(&mut self) {
        if let Some(last) = self.iv.as_mut().last_chunk_mut::<TLS_EXPLICIT_BYTES>() {
            *last = u64::from_be_bytes(*last).wrapping_add(1).to_be_bytes();
        }
    }

    fn take_explicit_iv(&mut self, explicit: &[u8]) -> Result<(), Reason> {
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        if !self.counts_ivs || self.direction == Direction::Encrypt {
            return Err(Reason::Silent);
        }
        let at = self.iv.len() - explicit.len();
        self.iv.as_mut()[at..].copy_from_slice(explicit);
        context
            .begin(self.iv.as_ref())
            .map_err(|_| Reason::Silent)?;
        self.iv_state = IvState::InUse;
        Ok(())
    }

    /// Sets the fixed part of the IV, or all of it if the length is -1.
    fn set_fixed_iv(&mut self, (fixed, bytes): (*const u8, usize)) -> Result<(), Reason> {
        let is_whole = bytes == usize::MAX;
        let bytes = if is_whole { self.iv.len() } else { bytes };
        if fixed.is_null()
            || bytes < TLS_FIXED_BYTES
            || bytes > self.iv.len()
            || (!is_whole && self.iv.len() - bytes < TLS_EXPLICIT_BYTES)
        {
            return Err(Reason::FailedToGetParameter);
        }
        // SAFETY: OpenSSL's caller vouches for the fixed part's length, or for that of an IV if it passed -1.
        unsafe { fixed.copy_to_nonoverlapping(self.iv.as_mut().as_mut_ptr(), bytes) };
        if self.direction == Direction::Encrypt {
            fill_with_random_bytes(&mut self.iv.as_mut()[bytes..])?;
            self.is_iv_random = true;
        }
        if is_whole {
            self.is_iv_random = false;
        }
        self.counts_ivs = true;
        self.iv_state = IvState::Set;
        Ok(())
    }

    /// Stores the associated data of the next record, with the length of its fragment.
    fn begin_record(&mut self, mut aad: [u8; TLS_AAD_BYTES]) -> Result<(), Reason> {
        let overhead = match self.direction {
            Direction::Encrypt => TLS_EXPLICIT_BYTES,
            Direction::Decrypt => TLS_EXPLICIT_BYTES + TAG_BYTES,
        };
        // The data are stored even if the length is refused: a caller that goes on all the same must fail as well.
        self.tag[..TLS_AAD_BYTES].copy_from_slice(&aad);
        self.has_tls_aad = true;
        let [.., high, low] = &mut aad;
        let bytes = usize::from(u16::from_be_bytes([*high, *low]));
        let bytes = bytes.checked_sub(overhead).ok_or(Reason::InvalidAad)?;
        [*high, *low] = (bytes as u16).to_be_bytes();
        self.tag[..TLS_AAD_BYTES].copy_from_slice(&aad);
        self.tls_padding_bytes = TAG_BYTES;
        Ok(())
    }

    /// Processes `explicit IV | fragment | tag` in place (RFC 5288, section 3).
    fn record(&mut self, data: Data) -> Result<usize, Reason> {
        let overhead = TLS_EXPLICIT_BYTES + TAG_BYTES;
        let aad = &self.tag[..TLS_AAD_BYTES];
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        if data.input.is_null()
            || !data.is_in_place()
            || data.input_bytes < overhead
            || self.iv.len() < TLS_EXPLICIT_BYTES
            || !self.counts_ivs
        {
            return Err(Reason::Silent);
        }
        let bytes = data.input_bytes - overhead;
        self.tag_bytes = Some(TAG_BYTES);
        // SAFETY: OpenSSL's caller vouches for the record and lends it to this call alone; input and output are the
        // same.
        let record = unsafe { std::slice::from_raw_parts_mut(data.output, data.input_bytes) };
        let (explicit, rest) = record.split_at_mut(TLS_EXPLICIT_BYTES);
        let (fragment, tag) = rest.split_at_mut(bytes);
        let at = self.iv.len() - TLS_EXPLICIT_BYTES;
        match self.direction {
            Direction::Encrypt => {
                self.tls_records = self
                    .tls_records
                    .checked_add(1)
                    .ok_or(Reason::TooManyRecords)?;
                explicit.copy_from_slice(&self.iv.as_ref()[at..]);
                let nonce = self.iv.as_ref();
                let sealed = context.seal(nonce, aad, fragment.into());
                tag.copy_from_slice(&sealed.map_err(|_| Reason::Silent)?);
                self.count_iv();
                Ok(data.input_bytes)
            }
            Direction::Decrypt => {
                self.iv.as_mut()[at..].copy_from_slice(explicit);
                let nonce = self.iv.as_ref();
                let tag = (&*tag).try_into().map_err(|_| Reason::Silent)?;
                let opened = context.open(nonce, aad, (&mut *fragment).into(), tag);
                if opened.is_err() {
                    fragment.zeroize();
                    return Err(Reason::Silent);
                }
                Ok(bytes)
            }
        }
    }
}
