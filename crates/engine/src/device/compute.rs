//! Services computed on the CPU, by our kernels or by aws-lc where that is faster. The only error here is a wrong tag.
//!
//! The data of a request are one piece, as devices get them. Requests of one kind can share the lanes of one kernel call
//! ([`run_group`]).

mod scattered;

use std::ops::Range;

use hmac::Hmac;
use inout::InOutBuf;
use oarlock_kernels::aes::{BLOCK_BYTES, Backend};
use oarlock_kernels::batch::{self, HashBackend, HmacKey, Mac};
use oarlock_kernels::cbc::Cbc;
use oarlock_kernels::cpu::Cpu;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use subtle::ConstantTimeEq;

use super::ciphers::CipherDevices;
use super::keyed::aead::AeadKey;
use super::keyed::cbc::CbcKey;
use super::keyed::stream::StreamKey;
use crate::Error;
use crate::costs::cost::Cost;
use crate::work::algorithm::{Direction, Kind};
use crate::work::operation::{ChainOrder, HashAlgorithm, Layout, Material, Service, Step};
use oarlock_threads::wiped::Wiped;

/// A session's keys, set up for the CPU.
pub(crate) struct LocalKeys {
    cpu: Cpu,
    cipher: CipherKey,
    mac: MacKey,
    service: Service,
    tag_bytes: usize,
    /// The device whose code computes the requests.
    pub(crate) device: &'static str,
    pub(crate) cost: Cost,
}

enum CipherKey {
    None,
    Stream(StreamKey),
    Cbc(CbcKey),
    Aead(AeadKey),
}

/// A MAC key for batches and, except for MD5, for single messages: with SHA instructions a single message is faster than one
/// lane of a batch.
enum MacKey {
    None,
    Md5(Box<HmacKey<batch::Md5>>),
    Sha1(Box<(HmacKey<batch::Sha1>, Hmac<Sha1>)>),
    Sha256(Box<(HmacKey<batch::Sha256>, Hmac<Sha256>)>),
    Sha384(Box<(HmacKey<batch::Sha384>, Hmac<Sha384>)>),
    Sha512(Box<(HmacKey<batch::Sha512>, Hmac<Sha512>)>),
}

/// A request with its data in one piece.
pub(crate) struct Item<'a> {
    pub(crate) keys: &'a LocalKeys,
    pub(crate) step: &'a Step,
    pub(crate) data: &'a mut [u8],
}

impl LocalKeys {
    /// Sets up keys on the device of `devices` that is expected to be fastest.
    pub(crate) fn new(devices: &CipherDevices, material: &Material) -> Result<Self, Error> {
        let service = material.service;
        let mut device = "cpu";
        let (mut cost, cipher) = match service.cipher() {
            None => (NOTHING, CipherKey::None),
            Some(algorithm) => {
                let key = &material.cipher_key;
                let (found, cost, cipher) = match algorithm.kind() {
                    Kind::Stream { .. } => {
                        let (by, key, cost) = devices.open(algorithm, key)?;
                        (by, cost, CipherKey::Stream(key))
                    }
                    Kind::Cbc => {
                        let (by, key, cost) = devices.open(algorithm, key)?;
                        (by, cost, CipherKey::Cbc(key))
                    }
                    Kind::Aead => {
                        let (by, key, cost) = devices.open(algorithm, key)?;
                        (by, cost, CipherKey::Aead(key))
                    }
                };
                device = found;
                (cost, cipher)
            }
        };
        let mac = match service {
            Service::Mac(hash) | Service::Chained { mac: hash, .. } => {
                MacKey::new(hash, &material.mac_key)
            }
            _ => MacKey::None,
        };
        if let Some(hash) = service.hash() {
            let per_byte = 1.0 / hash_bytes_per_ns(hash);
            cost = Cost {
                setup_ns: cost.setup_ns + HASH_SETUP_NS,
                bytes_per_ns: 1.0 / (1.0 / cost.bytes_per_ns + per_byte),
            };
        }
        if service == Service::Random {
            cost = RANDOM;
        }
        Ok(Self {
            cpu: devices.cpu,
            cipher,
            mac,
            service,
            tag_bytes: material.tag_bytes,
            device,
            cost,
        })
    }

    /// Returns the class of requests to compute together with this one; `None` if batching gains nothing.
    pub(crate) fn class(&self, direction: Direction) -> Option<(Service, Direction)> {
        let gains = match self.service {
            Service::Mac(_) => true,
            Service::Cipher(algorithm) => {
                algorithm.kind() == Kind::Cbc && direction == Direction::Encrypt
            }
            _ => false,
        };
        gains.then_some((self.service, direction))
    }

    /// Computes one request in place. If the tag is wrong, the data are unchanged.
    pub(crate) fn run(&self, step: &Step, data: &mut [u8]) -> Result<(), Error> {
        match self.service {
            Service::Cipher(_) => {
                self.crypt(
                    step,
                    step.direction,
                    &mut data[step.layout.encrypted.clone()],
                );
                Ok(())
            }
            Service::Aead(_) => self.aead(step, data),
            Service::Mac(_) | Service::Digest(_) => {
                let layout = &step.layout;
                let mut tag = self.tag_of(&data[layout.authenticated.clone()], &[]);
                self.put_or_check(step, data, &mut tag)
            }
            Service::Chained { order, .. } => self.chained(order, step, data),
            Service::Random => fill_random(&mut data[step.layout.encrypted.clone()]),
            Service::PublicKey => Err(Error::InvalidInput(
                "a public-key request has no session".into(),
            )),
        }
    }

    /// Computes a request as a device does: for a decryption, it writes the expected tag to the tag's place.
    #[cfg(feature = "simulated")]
    pub(crate) fn run_as_device(&self, step: &Step, data: &mut [u8]) -> Result<(), Error> {
        let encrypt = Step {
            direction: Direction::Encrypt,
            ..step.clone()
        };
        match (step.direction, self.service) {
            (Direction::Encrypt, _) | (_, Service::Cipher(_) | Service::Random) => {
                self.run(step, data)
            }
            (Direction::Decrypt, Service::Aead(_)) => {
                // These ciphers XOR keystream: sealing the ciphertext yields the plaintext, and sealing that yields the tag.
                self.run(&encrypt, data)?;
                let range = step.layout.encrypted.clone();
                let plain = Wiped::from(data[range.clone()].to_vec());
                self.run(&encrypt, data)?;
                data[range].copy_from_slice(&plain);
                Ok(())
            }
            (Direction::Decrypt, Service::Chained { order, .. }) => {
                let (first, second) = (
                    step.layout.authenticated.clone(),
                    step.layout.encrypted.clone(),
                );
                let mut tag = [0; DIGEST_BYTES_MAX];
                if order == ChainOrder::EncryptThenMac {
                    tag = self.tag_of(&data[first.clone()], &data[second.clone()]);
                }
                self.crypt(step, Direction::Decrypt, &mut data[second.clone()]);
                if order == ChainOrder::MacThenEncrypt {
                    tag = self.tag_of(&data[first], &data[second]);
                }
                self.put_or_check(&encrypt, data, &mut tag)
            }
            (Direction::Decrypt, _) => self.run(&encrypt, data),
        }
    }

    fn crypt(&self, step: &Step, direction: Direction, data: &mut [u8]) {
        match &self.cipher {
            CipherKey::Stream(key) => {
                key.shared().apply(step.counter(), step.skip, data.into());
            }
            CipherKey::Cbc(key) => {
                let mut iv = iv_of(step);
                key.crypt(direction, &mut iv, data.into());
            }
            CipherKey::Aead(_) | CipherKey::None => {}
        }
    }

    fn aead(&self, step: &Step, data: &mut [u8]) -> Result<(), Error> {
        let CipherKey::Aead(key) = &self.cipher else {
            return Ok(());
        };
        let layout = &step.layout;
        let [aad, text, tag] = disjoint(
            data,
            [
                layout.authenticated.clone(),
                layout.encrypted.clone(),
                layout.tag..layout.tag + TAG_BYTES,
            ],
        )?;
        let done = match step.direction {
            Direction::Encrypt => key
                .seal(step.iv.as_slice(), aad, text.into())
                .map(|made| tag.copy_from_slice(&made)),
            Direction::Decrypt => {
                let mut given = [0; TAG_BYTES];
                given.copy_from_slice(tag);
                key.open(step.iv.as_slice(), aad, text.into(), &given)
            }
        };
        done.map_err(crate::device::keyed::aead::refused)
    }

    fn chained(&self, order: ChainOrder, step: &Step, data: &mut [u8]) -> Result<(), Error> {
        let layout = &step.layout;
        let (first, second) = (layout.authenticated.clone(), layout.encrypted.clone());
        match (order, step.direction) {
            (ChainOrder::EncryptThenMac, Direction::Encrypt) => {
                self.crypt(step, Direction::Encrypt, &mut data[second.clone()]);
                let mut tag = self.tag_of(&data[first], &data[second]);
                self.put_or_check(step, data, &mut tag)
            }
            (ChainOrder::EncryptThenMac, Direction::Decrypt) => {
                let mut tag = self.tag_of(&data[first], &data[second.clone()]);
                self.put_or_check(step, data, &mut tag)?;
                self.crypt(step, Direction::Decrypt, &mut data[second]);
                Ok(())
            }
            (ChainOrder::MacThenEncrypt, Direction::Encrypt) => {
                let text = self.authenticated_text(layout);
                let mut tag = self.tag_of(&data[first], &data[text]);
                data[layout.tag..layout.tag + self.tag_bytes]
                    .copy_from_slice(&tag[..self.tag_bytes]);
                tag.fill(0);
                self.crypt(step, Direction::Encrypt, &mut data[second]);
                Ok(())
            }
            (ChainOrder::MacThenEncrypt, Direction::Decrypt) => {
                // Decrypt into a copy, so that nothing of a forgery becomes visible.
                let mut plain = Wiped::from(data[second.clone()].to_vec());
                self.crypt(step, Direction::Decrypt, &mut plain);
                let text = self.authenticated_text(layout);
                let mut tag = self.tag_of(&data[first], &plain[..text.len()]);
                let given = if layout.tag_is_inside(self.tag_bytes) {
                    &plain[text.len()..text.len() + self.tag_bytes]
                } else {
                    &data[layout.tag..layout.tag + self.tag_bytes]
                };
                let is_right = bool::from(given.ct_eq(&tag[..self.tag_bytes]));
                tag.fill(0);
                if !is_right {
                    return Err(Error::AuthenticationFailed);
                }
                data[second].copy_from_slice(&plain);
                Ok(())
            }
        }
    }

    /// Returns the part of the encrypted bytes that the tag authenticates under [`ChainOrder::MacThenEncrypt`].
    fn authenticated_text(&self, layout: &Layout) -> Range<usize> {
        let end = if layout.tag_is_inside(self.tag_bytes) {
            layout.tag
        } else {
            layout.encrypted.end
        };
        layout.encrypted.start..end
    }

    fn put_or_check(
        &self,
        step: &Step,
        data: &mut [u8],
        tag: &mut [u8; DIGEST_BYTES_MAX],
    ) -> Result<(), Error> {
        let place = step.layout.tag..step.layout.tag + self.tag_bytes;
        put_or_check(step.direction, &mut data[place], tag)
    }

    /// Returns the tag of `first` followed by `second`.
    fn tag_of(&self, first: &[u8], second: &[u8]) -> [u8; DIGEST_BYTES_MAX] {
        let mut tag = [0; DIGEST_BYTES_MAX];
        match &self.mac {
            MacKey::Md5(key) => md5_tag(self.cpu, key, (first, second), &mut tag),
            _ => self.tag_of_pieces(
                &mut |update| {
                    update(first);
                    update(second);
                },
                &mut tag,
            ),
        }
        tag
    }

    /// Writes the tag or digest of all that `feed` hands out to the front of `tag`. MD5 is not supported.
    fn tag_of_pieces(&self, feed: &mut Feed<'_>, tag: &mut [u8; DIGEST_BYTES_MAX]) {
        fn mac<M: Clone + hmac::Mac>(key: &M, feed: &mut Feed<'_>, tag: &mut [u8]) {
            let mut mac = key.clone();
            feed(&mut |piece| mac.update(piece));
            let made = mac.finalize().into_bytes();
            tag[..made.len()].copy_from_slice(&made);
        }
        fn digest<D: Digest>(feed: &mut Feed<'_>, tag: &mut [u8]) {
            let mut digest = D::new();
            feed(&mut |piece| digest.update(piece));
            let made = digest.finalize();
            tag[..made.len()].copy_from_slice(&made);
        }
        match (&self.mac, self.service) {
            (MacKey::Sha1(keys), _) => mac(&keys.1, feed, tag),
            (MacKey::Sha256(keys), _) => mac(&keys.1, feed, tag),
            (MacKey::Sha384(keys), _) => mac(&keys.1, feed, tag),
            (MacKey::Sha512(keys), _) => mac(&keys.1, feed, tag),
            (_, Service::Digest(HashAlgorithm::Sha1)) => digest::<Sha1>(feed, tag),
            (_, Service::Digest(HashAlgorithm::Sha256)) => digest::<Sha256>(feed, tag),
            (_, Service::Digest(HashAlgorithm::Sha384)) => digest::<Sha384>(feed, tag),
            (_, Service::Digest(HashAlgorithm::Sha512)) => digest::<Sha512>(feed, tag),
            // `Material` permits no session of MD5 alone.
            _ => {}
        }
    }
}

/// A function that hands out pieces of a message in order.
type Feed<'a> = dyn FnMut(&mut dyn FnMut(&[u8])) + 'a;

/// Writes the computed tag to its place, or compares it with the tag there. Then wipes `tag`: nobody may learn the right tag
/// of a forged message.
fn put_or_check(
    direction: Direction,
    place: &mut [u8],
    tag: &mut [u8; DIGEST_BYTES_MAX],
) -> Result<(), Error> {
    let made = &tag[..place.len()];
    let is_right = match direction {
        Direction::Encrypt => {
            place.copy_from_slice(made);
            true
        }
        Direction::Decrypt => place.ct_eq(made).into(),
    };
    tag.fill(0);
    if is_right {
        Ok(())
    } else {
        Err(Error::AuthenticationFailed)
    }
}

/// Computes the tag with the multi-buffer kernel, which needs each message in one piece.
fn md5_tag(
    cpu: Cpu,
    key: &HmacKey<batch::Md5>,
    (first, second): (&[u8], &[u8]),
    tag: &mut [u8; DIGEST_BYTES_MAX],
) {
    let joined;
    let message = match (first, second) {
        ([], message) | (message, []) => message,
        _ => {
            joined = Wiped::from([first, second].concat());
            &*joined
        }
    };
    let message = Mac {
        key,
        message,
        tag: &mut tag[..HashAlgorithm::Md5.digest_bytes()],
    };
    batch::hmac(HashBackend::preferred(cpu), &mut [message]);
}

impl MacKey {
    fn new(hash: HashAlgorithm, key: &[u8]) -> Self {
        match hash {
            HashAlgorithm::Md5 => Self::Md5(Box::new(HmacKey::new(key))),
            HashAlgorithm::Sha1 => Self::Sha1(Box::new((HmacKey::new(key), single(key)))),
            HashAlgorithm::Sha256 => Self::Sha256(Box::new((HmacKey::new(key), single(key)))),
            HashAlgorithm::Sha384 => Self::Sha384(Box::new((HmacKey::new(key), single(key)))),
            HashAlgorithm::Sha512 => Self::Sha512(Box::new((HmacKey::new(key), single(key)))),
        }
    }
}

/// Computes requests of the same [`class`](LocalKeys::class), and calls `answer` with the index and outcome of each.
pub(crate) fn run_group(items: &mut [Item<'_>], answer: &mut dyn FnMut(usize, Result<(), Error>)) {
    let is_alone = items.len() == 1;
    let Some(first) = items.first().filter(|_| !is_alone) else {
        if let Some(only) = items.first_mut() {
            answer(0, only.keys.run(only.step, only.data));
        }
        return;
    };
    let cpu = first.keys.cpu;
    match (&first.keys.mac, first.keys.service) {
        (MacKey::Md5(_), _) => macs(cpu, items, answer, |key| match key {
            MacKey::Md5(key) => Some(key),
            _ => None,
        }),
        (MacKey::Sha1(_), _) => macs(cpu, items, answer, |key| match key {
            MacKey::Sha1(keys) => Some(&keys.0),
            _ => None,
        }),
        (MacKey::Sha256(_), _) => macs(cpu, items, answer, |key| match key {
            MacKey::Sha256(keys) => Some(&keys.0),
            _ => None,
        }),
        (MacKey::Sha384(_), _) => macs(cpu, items, answer, |key| match key {
            MacKey::Sha384(keys) => Some(&keys.0),
            _ => None,
        }),
        (MacKey::Sha512(_), _) => macs(cpu, items, answer, |key| match key {
            MacKey::Sha512(keys) => Some(&keys.0),
            _ => None,
        }),
        (MacKey::None, _) => cbc_streams(cpu, items, answer),
    }
}

/// Encrypts by AES-CBC, one stream in each lane.
fn cbc_streams(cpu: Cpu, items: &mut [Item<'_>], answer: &mut dyn FnMut(usize, Result<(), Error>)) {
    let kernels: Option<Vec<&Cbc>> = items.iter().map(|item| item.keys.cbc()).collect();
    let Some(kernels) = kernels else {
        for (place, item) in items.iter_mut().enumerate() {
            answer(place, item.keys.run(item.step, item.data));
        }
        return;
    };
    let mut ivs: Vec<_> = items.iter().map(|item| iv_of(item.step)).collect();
    let mut streams: Vec<_> = (items.iter_mut().zip(kernels).zip(&mut ivs))
        .map(|((item, key), iv)| batch::CbcStream {
            key,
            iv,
            data: InOutBuf::from(&mut item.data[item.step.layout.encrypted.clone()]),
        })
        .collect();
    batch::encrypt_cbc(Backend::preferred(cpu), &mut streams);
    drop(streams);
    for place in 0..items.len() {
        answer(place, Ok(()));
    }
}

/// Computes HMAC, one message in each lane.
fn macs<H: batch::Hash>(
    cpu: Cpu,
    items: &mut [Item<'_>],
    answer: &mut dyn FnMut(usize, Result<(), Error>),
    key_of: impl Fn(&MacKey) -> Option<&HmacKey<H>>,
) {
    let mut tags = vec![[0; DIGEST_BYTES_MAX]; items.len()];
    let mut messages = Vec::with_capacity(items.len());
    for (item, tag) in items.iter().zip(&mut tags) {
        if let Some(key) = key_of(&item.keys.mac) {
            messages.push(Mac {
                key,
                message: &item.data[item.step.layout.authenticated.clone()],
                tag: &mut tag[..item.keys.tag_bytes],
            });
        }
    }
    batch::hmac(
        HashBackend::preferred_for::<H>(cpu, messages.len()),
        &mut messages,
    );
    for ((place, item), tag) in items.iter_mut().enumerate().zip(&mut tags) {
        answer(place, item.keys.put_or_check(item.step, item.data, tag));
    }
}

impl LocalKeys {
    fn cbc(&self) -> Option<&Cbc> {
        match &self.cipher {
            CipherKey::Cbc(CbcKey::Kernel(key)) => Some(key),
            _ => None,
        }
    }
}

fn single<M: hmac::KeyInit>(key: &[u8]) -> M {
    #[allow(clippy::expect_used)] // RFC 2104 permits keys of any length.
    M::new_from_slice(key).expect("HMAC takes any key")
}

/// Returns several parts of the data for writing.
fn disjoint<const N: usize>(
    data: &mut [u8],
    ranges: [Range<usize>; N],
) -> Result<[&mut [u8]; N], Error> {
    // An empty range inside another one does not overlap it.
    let ranges = ranges.map(|range| if range.is_empty() { 0..0 } else { range });
    let parts = data.get_disjoint_mut(ranges);
    parts.map_err(|_| Error::InvalidInput("the layout does not fit the data".into()))
}

fn iv_of(step: &Step) -> [u8; BLOCK_BYTES] {
    let mut iv = [0; BLOCK_BYTES];
    let bytes = step.iv.as_slice();
    iv[..bytes.len()].copy_from_slice(bytes);
    iv
}

fn fill_random(data: &mut [u8]) -> Result<(), Error> {
    crate::aws_lc::random::fill_random(data);
    Ok(())
}

/// Returns the rate of a single message with SHA-NI, a figure that is within a factor of three on other CPUs. The framework
/// corrects it by measurement.
fn hash_bytes_per_ns(hash: HashAlgorithm) -> f64 {
    match hash {
        HashAlgorithm::Md5 => 0.4,
        HashAlgorithm::Sha1 => 1.6,
        HashAlgorithm::Sha256 => 1.5,
        HashAlgorithm::Sha384 | HashAlgorithm::Sha512 => 0.8,
    }
}

const HASH_SETUP_NS: f64 = 300.0;
const RANDOM: Cost = Cost {
    setup_ns: 300.0,
    bytes_per_ns: 2.0,
};
const NOTHING: Cost = Cost {
    setup_ns: 0.0,
    bytes_per_ns: f64::INFINITY,
};
const TAG_BYTES: usize = 16;
const DIGEST_BYTES_MAX: usize = 64;
