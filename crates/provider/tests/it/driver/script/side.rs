//! Calls on a context of one of the two providers, and their observable results.

use std::ptr::{null, null_mut};

use oarlock_testing::seeded_noise as noise;

use super::call::{Call, Family, Place};
use super::seen::Seen;
use super::state::State;
use crate::driver::{Cipher, Context, Param, ctrl};

/// One provider's context of an algorithm.
pub struct Side<'a> {
    pub family: Family,
    pub cipher: &'a Cipher,
    pub context: &'a Context,
    pub is_default: bool,
}

impl Side<'_> {
    /// Makes `call`, which must not involve several contexts.
    pub fn make(&self, call: Call, state: State) -> Seen {
        let context = self.context;
        let call = match self.is_default {
            true => self.defined(call, state),
            false => call,
        };
        match call {
            Call::Init {
                has_cipher,
                key,
                iv,
                encrypts,
            } => {
                let key = key.map(|seed| noise(100 + seed, 64));
                let iv = iv.map(|iv| iv.octets(self.family));
                let cipher = has_cipher.then_some(self.cipher);
                let done = context.init(cipher, key.as_deref(), iv.as_deref(), encrypts);
                Seen::now(done, 0, Vec::new())
            }
            Call::Update(bytes, place) => crypt(context, bytes, place, Context::update),
            Call::Cipher(bytes, place) => {
                let cipher = |context: &Context, to, written: &mut i32, from, bytes| {
                    *written = context.cipher(to, from, bytes as usize);
                    1
                };
                crypt(context, bytes, place, cipher)
            }
            Call::Aad(bytes) => {
                let aad = noise(200, bytes.max(1));
                let mut written = UNTOUCHED;
                let done = context.update(null_mut(), &mut written, aad.as_ptr(), bytes as i32);
                Seen::now(done, written, Vec::new())
            }
            Call::CipherAad(bytes) => {
                let aad = noise(200, bytes.max(1));
                let done = context.cipher(null_mut(), aad.as_ptr(), bytes);
                Seen::now(done, 0, Vec::new())
            }
            Call::Finish => {
                let mut output = vec![0xaa; 64];
                let mut written = UNTOUCHED;
                let done = context.finish(output.as_mut_ptr(), &mut written);
                Seen::now(done, written, output)
            }
            // 3.0 ignores it (CVE-2026-75803); later releases do what their final call does.
            Call::CipherEnd if self.is_default && self.family == Family::ChaCha20Poly1305 => {
                let mut seen = self.make(Call::Finish, state);
                (seen.done, seen.written) = (seen.done - 1, 0);
                seen
            }
            Call::CipherEnd => {
                let mut output = vec![0xaa; 64];
                let done = context.cipher(output.as_mut_ptr(), null(), 0);
                Seen::now(done, 0, output)
            }
            Call::Padding(padding) => Seen::now(context.set_padding(padding), 0, Vec::new()),
            Call::KeyBytes(bytes) => Seen::now(context.set_key_bytes(bytes), 0, Vec::new()),
            Call::Num(num) => Seen::now(context.set_num(num), 0, Vec::new()),
            Call::Ctrl(what, argument, seed) => {
                let mut place = noise(300 + seed, 256);
                if what == ctrl::AEAD_TLS1_AAD {
                    place[11..13].copy_from_slice(&[0, 40 * (seed as u8 & 1)]);
                }
                let done = context.ctrl(what, argument, place.as_mut_ptr());
                Seen::now(done, 0, place)
            }
            Call::SetNumber(key, data_type, bytes, number) => {
                let mut place = number.to_ne_bytes();
                let param = Param::new(key, data_type, place.as_mut_ptr(), bytes);
                Seen::now(context.set(param), 0, Vec::new())
            }
            Call::SetOctets(key, bytes, is_null) => {
                let mut place = noise(400, 256);
                let data = if is_null {
                    null_mut()
                } else {
                    place.as_mut_ptr()
                };
                let param = Param::new(key, Param::OCTET_STRING, data, bytes);
                Seen::now(context.set(param), 0, Vec::new())
            }
            Call::Get(key, data_type, bytes) => {
                let mut place = vec![0xaa; 256];
                let mut param = Param::new(key, data_type, place.as_mut_ptr(), bytes);
                let done = context.get(&mut param);
                if data_type == Param::OCTET_PTR {
                    place = pointed_to(&place, param.return_bytes);
                }
                Seen::now(done, param.return_bytes as i32, place)
            }
            Call::Look(bytes) => {
                let numbers = context.numbers();
                let mut output = vec![0xaa; 300];
                let done = context.updated_iv(&mut output[..bytes]);
                let other = context.original_iv(&mut output[150..150 + bytes]);
                let numbers = numbers.iter().flat_map(|number| number.to_ne_bytes());
                output.splice(..0, numbers);
                Seen::now(done, other, output)
            }
            Call::Copy | Call::Turn(_) => unreachable!("not on one context"),
        }
    }

    /// Overlapping buffers are undefined in OpenSSL, and so is CBC in place with a partial block: in these cases the default
    /// provider gets two buffers, and ours has to work with one.
    fn defined(&self, call: Call, state: State) -> Call {
        let is_defined = |place| match place {
            Place::Apart => true,
            Place::Same => self.family != Family::Cbc || state.has_tls_version,
            Place::Overlapping(_) => false,
        };
        match call {
            Call::Update(bytes, place) if !is_defined(place) => Call::Update(bytes, Place::Apart),
            Call::Cipher(bytes, place) if !is_defined(place) => Call::Cipher(bytes, Place::Apart),
            call => call,
        }
    }
}

fn crypt(
    context: &Context,
    bytes: usize,
    place: Place,
    call: impl FnOnce(&Context, *mut u8, &mut i32, *const u8, i32) -> i32,
) -> Seen {
    let after = 128;
    let apart = bytes + after;
    let mut memory = vec![0xaa; 2 * apart + 2 * after];
    let from = after;
    let to = match place {
        Place::Apart => from + apart,
        Place::Same => from,
        Place::Overlapping(by) => from.wrapping_add_signed(by),
    };
    let input = noise(500 + bytes as u64, bytes);
    memory[from..from + bytes].copy_from_slice(&input);
    let base = memory.as_mut_ptr();
    let mut written = UNTOUCHED;
    let done = call(
        context,
        base.wrapping_add(to),
        &mut written,
        base.wrapping_add(from),
        bytes as i32,
    );
    if place == Place::Apart {
        assert_eq!(memory[from..from + bytes], input, "the input stays");
    }
    let made = usize::try_from(written).unwrap_or_default().min(bytes + 64);
    // Bytes after the output are checked, unless the input lies there.
    let behind = if place == Place::Apart { 64 } else { 0 };
    let mut output = memory[to..to + made + behind].to_vec();
    output.resize(made + 64, 0xaa);
    Seen::now(done, written, output)
}

fn pointed_to(place: &[u8], bytes: usize) -> Vec<u8> {
    let pointer = usize::from_ne_bytes(place[..8].try_into().unwrap());
    let untouched = usize::from_ne_bytes([0xaa; 8]);
    if pointer == untouched || pointer == 0 || bytes > 128 {
        return format!("{}", pointer == untouched).into_bytes();
    }
    // SAFETY: the context has set the pointer to `bytes` bytes of its own.
    unsafe { std::slice::from_raw_parts(pointer as *const u8, bytes) }.to_vec()
}

/// The value of a length that was not written.
const UNTOUCHED: i32 = 0x5a5a;
