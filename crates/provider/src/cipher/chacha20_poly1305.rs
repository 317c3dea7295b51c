//! ChaCha20-Poly1305: message by message, and as TLS uses it (RFC 7905).
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use inout::InOutBuf;
use oarlock::Algorithm;
use oarlock::Direction;
use oarlock::aead::TAG_BYTES;
use oarlock_engine::aead::AeadContext;
use zeroize::Zeroize;

use super::secret::are_equal;
use super::values::{fixed, got, set};
use crate::abi::{Param, Params};
use crate::dispatch::{Cipher, Data, write_fields};
use crate::error::Reason;
use crate::host::Host;
use crate::provider::Provider;

const KEY_BYTES: u64 = 32;
const IV_BYTES: usize = 12;
const TLS_AAD_BYTES: usize = 13;

pub(super) struct ChaCha20Poly1305 {
    /// Set with the first key.
    context: Option<AeadContext>,
    direction: Direction,
    /// The IV as set; `nonce` combines it with the sequence number of a TLS record.
    iv: [u8; IV_BYTES],
    nonce: [u8; IV_BYTES],
    /// The tag of the last message sealed, or the one that a message to open must have.
    tag: [u8; TAG_BYTES],
    /// The length of the tag to open with; 0 before one is set.
    tag_bytes: usize,
    /// Whether `tag` is that of the last message sealed.
    has_sealed_tag: bool,
    /// Whether the message of the nonce has ended; the nonce must not serve another.
    has_ended: bool,
    /// Set if the next data are a record with these associated data.
    tls: Option<Record>,
    tls_padding_bytes: usize,
    /// Whether a missing tag is reported before anything else when a message to open ends, as in OpenSSL 4.0.
    asks_for_tag: bool,
}

#[derive(Clone, Copy)]
struct Record {
    aad: [u8; TLS_AAD_BYTES],
    fragment_bytes: usize,
}

impl Cipher for ChaCha20Poly1305 {
    fn gettable(_operation: Algorithm, _host: Host) -> &'static [Param] {
        const {
            &[
                Param::size(c"keylen"),
                Param::size(c"ivlen"),
                Param::size(c"taglen"),
                Param::octets(c"tag"),
                Param::size(c"tlsaadpad"),
                Param::END,
            ]
        }
    }

    fn settable(_operation: Algorithm) -> &'static [Param] {
        const {
            &[
                Param::size(c"keylen"),
                Param::size(c"ivlen"),
                Param::octets(c"tag"),
                Param::octets(c"tlsaad"),
                Param::octets(c"tlsivfixed"),
                Param::END,
            ]
        }
    }

    #[inline(always)]
    fn put(place: &mut MaybeUninit<Self>, provider: &Provider, _operation: Algorithm) {
        write_fields!(
            place,
            Self {
                context: None,
                direction: Direction::Encrypt,
                iv: [0; IV_BYTES],
                nonce: [0; IV_BYTES],
                tag: [0; TAG_BYTES],
                tag_bytes: 0,
                has_sealed_tag: false,
                has_ended: false,
                tls: None,
                tls_padding_bytes: 0,
                asks_for_tag: provider.host.has_aeads_of_4_0(),
            }
        );
    }

    fn copy_to(&self, copy: &mut Self) {
        let Self {
            context,
            direction,
            iv,
            nonce,
            tag,
            tag_bytes,
            has_sealed_tag,
            has_ended,
            tls,
            tls_padding_bytes,
            asks_for_tag,
        } = self;
        if let Some(context) = context {
            context.clone_in(&mut copy.context);
        }
        copy.direction = *direction;
        copy.iv = *iv;
        copy.nonce = *nonce;
        copy.tag = *tag;
        copy.tag_bytes = *tag_bytes;
        copy.has_sealed_tag = *has_sealed_tag;
        copy.has_ended = *has_ended;
        copy.tls = *tls;
        copy.tls_padding_bytes = *tls_padding_bytes;
        copy.asks_for_tag = *asks_for_tag;
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
            self.iv = iv.try_into().map_err(|_| Reason::InvalidIvLength)?;
            self.nonce = self.iv;
        }
        if let Some(key) = key {
            match &mut self.context {
                Some(context) => context.set_key(key),
                place => {
                    let accelerator = &provider.accelerator;
                    AeadContext::put(
                        place,
                        accelerator.as_ref(),
                        Algorithm::ChaCha20Poly1305,
                        key,
                    )
                }
            }
            .map_err(|_| Reason::InvalidKeyLength)?;
        }
        if key.is_some() || iv.is_some() {
            self.give_up();
            self.tls = None;
            self.has_ended = false;
        }
        Ok(())
    }

    #[inline]
    fn update(&mut self, data: Data) -> Result<usize, Reason> {
        if data.input_bytes == 0 {
            return Ok(0);
        }
        if data.output_bytes < data.input_bytes {
            return Err(Reason::OutputBufferTooSmall);
        }
        self.run(data)
    }

    fn finish(&mut self, data: Data) -> Result<usize, Reason> {
        let (direction, tag_bytes) = (self.direction, self.tag_bytes);
        let has_no_tag = direction == Direction::Decrypt && tag_bytes == 0;
        if self.asks_for_tag && has_no_tag && self.context.is_some() {
            return Err(Reason::TagNotSet);
        }
        // A pending record is not ended here, unless the caller passes no buffer for it.
        if self.is_record_due() && !data.output.is_null() {
            return Err(Reason::Silent);
        }
        let context = self.begin()?;
        // The message stays open: its tag may still be set.
        if has_no_tag {
            return Err(Reason::TagNotSet);
        }
        let found = context.finish().map_err(|_| Reason::Silent)?;
        self.tls = None;
        self.has_ended = true;
        match direction {
            Direction::Encrypt => {
                self.tag = found;
                self.has_sealed_tag = true;
            }
            Direction::Decrypt => {
                if !are_equal(&found[..tag_bytes], &self.tag[..tag_bytes]) {
                    return Err(Reason::Silent);
                }
            }
        }
        Ok(0)
    }

    fn cipher(&mut self, data: Data) -> Result<usize, Reason> {
        if data.input.is_null() {
            return self.finish(data);
        }
        // No record is empty: it has a tag.
        if data.input_bytes == 0 && self.is_record_due() && !data.output.is_null() {
            return Err(Reason::Silent);
        }
        self.update(data)
    }

    fn get_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            set(match key {
                b"keylen" => value.set_number(KEY_BYTES),
                b"ivlen" => value.set_number(IV_BYTES as u64),
                b"taglen" => value.set_number(self.tag_bytes as u64),
                b"tlsaadpad" => value.set_number(self.tls_padding_bytes as u64),
                b"tag" => {
                    let (place, bytes) =
                        value.octets_place().ok_or(Reason::FailedToSetParameter)?;
                    if self.direction == Direction::Decrypt {
                        return Err(Reason::TagNotSet);
                    }
                    if bytes == 0 || bytes > TAG_BYTES {
                        return Err(Reason::InvalidTagLength);
                    }
                    // The size may be asked for before there is a tag.
                    if !place.is_null() && !self.has_sealed_tag {
                        return Err(Reason::TagNotSet);
                    }
                    if !place.is_null() {
                        // SAFETY: the caller's buffer has `bytes` bytes, and a tag has at least that many.
                        unsafe { self.tag.as_ptr().copy_to_nonoverlapping(place, bytes) };
                    }
                    true
                }
                _ => true,
            })
        })
    }

    fn set_params(&mut self, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            match key {
                b"keylen" if got(value.number::<u64>())? != KEY_BYTES => {
                    return Err(Reason::InvalidKeyLength);
                }
                b"ivlen" if got(value.number::<u64>())? != IV_BYTES as u64 => {
                    return Err(Reason::InvalidIvLength);
                }
                b"tag" => {
                    let (tag, bytes) = got(value.octets())?;
                    if bytes == 0 || bytes > TAG_BYTES {
                        return Err(Reason::InvalidTagLength);
                    }
                    if !tag.is_null() {
                        if self.direction == Direction::Encrypt {
                            return Err(Reason::TagNotNeeded);
                        }
                        // SAFETY: the tag is not null, at most 16 bytes long, and valid for the length that OpenSSL's
                        // caller passed with it.
                        unsafe { tag.copy_to_nonoverlapping(self.tag.as_mut_ptr(), bytes) };
                        self.has_sealed_tag = false;
                    }
                    self.tag_bytes = bytes;
                }
                b"tlsaad" => {
                    let aad = fixed::<TLS_AAD_BYTES>(got(value.octets())?);
                    self.begin_record(aad.ok_or(Reason::InvalidData)?)?;
                }
                b"tlsivfixed" => {
                    self.iv = fixed(got(value.octets())?).ok_or(Reason::InvalidIvLength)?;
                    self.nonce = self.iv;
                    self.give_up();
                    self.has_ended = false;
                }
                _ => {}
            }
            Ok(())
        })
    }
}

impl ChaCha20Poly1305 {
    #[inline(always)]
    fn run(&mut self, data: Data) -> Result<usize, Reason> {
        if !data.output.is_null()
            && let Some(record) = self.tls
        {
            return self.record(data, &record);
        }
        let direction = self.direction;
        let context = self.begin()?;
        if data.is_aad() {
            // SAFETY: OpenSSL's caller vouches for the associated data, which are only read.
            let aad = unsafe { data.input() };
            context.aad(aad).map_err(|_| Reason::Silent)?;
            return Ok(data.input_bytes);
        }
        if data.input.is_null() {
            return Err(Reason::Silent);
        }
        // SAFETY: neither pointer is null, and the output was checked to have room for the input.
        let done = unsafe {
            match direction {
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

    /// Returns whether the next data are a record of which nothing has been processed.
    fn is_record_due(&self) -> bool {
        self.tls.is_some() && !self.has_message()
    }

    fn has_message(&self) -> bool {
        let context = self.context.as_ref();
        context.is_some_and(AeadContext::has_message)
    }

    /// Begins the message of the nonce unless one is in progress. A nonce whose message has ended is refused.
    #[inline(always)]
    fn begin(&mut self) -> Result<&mut AeadContext, Reason> {
        let context = self.context.as_mut().ok_or(Reason::NoKeySet)?;
        if context.has_message() {
            return Ok(context);
        }
        if self.has_ended {
            return Err(Reason::CipherOperationFailed);
        }
        self.has_sealed_tag = false;
        context.begin(&self.nonce).map_err(|_| Reason::Silent)?;
        if let Some(record) = &self.tls {
            context.aad(&record.aad).map_err(|_| Reason::Silent)?;
        }
        Ok(context)
    }

    fn give_up(&mut self) {
        if let Some(context) = &mut self.context
            && context.has_message()
        {
            _ = context.finish().map(|mut tag| tag.zeroize());
        }
    }

    /// Stores the associated data of the next record, with the length of its fragment, and mixes its sequence number
    /// into the nonce.
    fn begin_record(&mut self, mut aad: [u8; TLS_AAD_BYTES]) -> Result<(), Reason> {
        let [.., high, low] = &mut aad;
        let mut bytes = usize::from(u16::from_be_bytes([*high, *low]));
        if self.direction == Direction::Decrypt {
            bytes = bytes.checked_sub(TAG_BYTES).ok_or(Reason::InvalidData)?;
            [*high, *low] = (bytes as u16).to_be_bytes();
        }
        self.nonce = self.iv;
        for (byte, sequence) in self.nonce[4..].iter_mut().zip(aad) {
            *byte ^= sequence;
        }
        self.give_up();
        self.has_ended = false;
        self.tls = Some(Record {
            aad,
            fragment_bytes: bytes,
        });
        self.tls_padding_bytes = TAG_BYTES;
        Ok(())
    }

    /// Processes `fragment | tag`, in place or not.
    fn record(&mut self, data: Data, record: &Record) -> Result<usize, Reason> {
        let bytes = record.fragment_bytes;
        let context = self.context.as_mut().ok_or(Reason::Silent)?;
        if self.has_ended || data.input.is_null() {
            return Err(Reason::Silent);
        }
        let has_message = context.has_message();
        if data.input_bytes != bytes + TAG_BYTES {
            if has_message {
                self.tls = None;
            }
            return Err(Reason::Silent);
        }
        self.tls = None;
        self.has_ended = true;
        self.has_sealed_tag = false;
        // SAFETY: a tag follows the fragment in the input. It is copied now, since the output may overlap it.
        let expected = unsafe { data.input.add(bytes).cast::<[u8; TAG_BYTES]>().read() };
        // The tag of the record; after opening in one step, the expected one or an error.
        // SAFETY: neither pointer is null, and the output was checked to have room for the record's fragment.
        let found = unsafe {
            data.crypt(0, bytes, |data| match has_message {
                true => rest_of_record(context, self.direction, data),
                false => match self.direction {
                    Direction::Encrypt => context.seal(&self.nonce, &record.aad, data),
                    Direction::Decrypt => context
                        .open(&self.nonce, &record.aad, data, &expected)
                        .map(|()| expected),
                },
            })
        };
        if self.direction == Direction::Encrypt {
            self.tag = found.map_err(|_| Reason::Silent)?;
            self.has_sealed_tag = true;
            // SAFETY: the output was checked to have room for the tag behind the fragment.
            unsafe {
                self.tag
                    .as_ptr()
                    .copy_to_nonoverlapping(data.output.add(bytes), TAG_BYTES);
            }
            return Ok(data.input_bytes);
        }
        if !found.is_ok_and(|found| are_equal(&found, &expected)) {
            // SAFETY: the output was checked to have room for the fragment.
            unsafe { data.output.write_bytes(0, bytes) };
            return Err(Reason::Silent);
        }
        Ok(bytes)
    }
}

/// Processes the fragment of a record whose message has already begun, as by more associated data; returns its tag.
#[cold]
fn rest_of_record(
    context: &mut AeadContext,
    direction: Direction,
    data: InOutBuf<'_, '_, u8>,
) -> Result<[u8; TAG_BYTES], oarlock::Error> {
    match direction {
        Direction::Encrypt => context.seal_next(data)?,
        Direction::Decrypt => context.open_next(data)?,
    }
    context.finish()
}
