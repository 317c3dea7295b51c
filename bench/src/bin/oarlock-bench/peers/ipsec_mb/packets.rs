//! Batches of packets through each of the library's interfaces (`bench/peers/ipsec_mb_packets.c`).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use oarlock_measure::Error;

use super::library::{Functions, Key, Manager};
use crate::peers::batch::{Done, Packets, Side};
use crate::system::fetched;

/// The cipher of a batch, with the C file's numbers.
#[allow(dead_code, reason = "what the C file has")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cipher {
    Ctr = 0,
    Cbc = 1,
    Gcm = 2,
    Des3Cbc = 3,
}

/// The hash of a batch, used in HMAC over the cipher's output, with the C file's numbers.
#[allow(dead_code, reason = "what the C file has")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hash {
    None = 0,
    Md5 = 1,
    Sha1 = 2,
    Sha256 = 3,
    Sha384 = 4,
    Sha512 = 5,
}

/// The interface that computes a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Interface {
    Jobs,
    Burst,
    /// The burst interface of CTR and CBC without a hash.
    CipherBurst,
    /// The direct interface of GCM.
    Direct,
}

/// A packet of a batch.
pub(crate) struct Packet<'a> {
    pub(crate) key: &'a [u8],
    /// The HMAC key, if there is a hash; at most one block of it.
    pub(crate) mac: &'a [u8],
    /// The IV, at least as long as the cipher's.
    pub(crate) iv: [u8; 16],
    pub(crate) aad: &'a [u8],
    /// The bytes before the encrypted ones, which are hashed too.
    pub(crate) hashed_before: usize,
}

/// A batch, computed repeatedly in place.
pub(crate) struct IpsecMbBatch {
    run: unsafe extern "C" fn(*mut c_void, *const RawBatch) -> usize,
    manager: Manager,
    batch: RawBatch,
    packets: Packets,
    tags: Vec<[u8; 64]>,
    tag_bytes: usize,
    _held: Held,
}

/// The objects that a batch points to.
struct Held {
    _packets: Vec<RawPacket>,
    _keys: Vec<Option<Key<()>>>,
    _ivs: Vec<[u8; 16]>,
    _aads: Vec<Vec<u8>>,
}

impl IpsecMbBatch {
    /// Sets up keys. `packet` returns the parameters of a packet by number; `tag_bytes` is 0 to 64.
    pub(crate) fn side<'a>(
        interface: Interface,
        (cipher, hash): (Cipher, Hash),
        tag_bytes: usize,
        mut packets: Packets,
        packet: impl Fn(usize) -> Packet<'a>,
    ) -> Result<Box<dyn Side>, Error> {
        let library = Arc::new(Functions::load()?);
        let manager = Manager::new(&library)?;
        let places: Vec<(*mut u8, usize)> = packets
            .each_mut()
            .map(|packet| (packet.as_mut_ptr(), packet.len()))
            .collect();
        let mut tags = vec![[0; 64]; places.len()];
        let (mut keys, mut ivs, mut aads) = (Vec::new(), Vec::new(), Vec::new());
        let mut key_len = 0;
        for number in 0..places.len() {
            let packet = packet(number);
            key_len = packet.key.len();
            keys.push(cipher_key(&library, &manager, cipher, packet.key)?);
            keys.push(match hash {
                Hash::None => None,
                _ => Some(hmac_key(&library, &manager, hash, packet.mac)?),
            });
            ivs.push(packet.iv);
            aads.push((packet.aad.to_vec(), packet.hashed_before));
        }
        let pointer = |key: &Option<Key<()>>| key.as_ref().map_or(ptr::null(), Key::as_ptr);
        let raw: Vec<RawPacket> = (places.iter().zip(keys.chunks(2)))
            .zip(ivs.iter().zip(&aads).zip(&mut tags))
            .map(
                |(((place, bytes), keys), ((iv, (aad, before)), tag))| RawPacket {
                    key: pointer(&keys[0]),
                    mac: pointer(&keys[1]),
                    iv: iv.as_ptr(),
                    aad: aad.as_ptr(),
                    aad_len: aad.len(),
                    src: *place,
                    dst: *place,
                    len: bytes - before,
                    hashed_before: *before,
                    tag: tag.as_mut_ptr(),
                    tag_len: tag_bytes,
                },
            )
            .collect();
        Ok(Box::new(Self {
            run: interface.function()?,
            manager,
            batch: RawBatch {
                cipher: cipher as c_int,
                hash: hash as c_int,
                open: 0,
                key_len,
                count: raw.len(),
                packets: raw.as_ptr(),
            },
            packets,
            tags,
            tag_bytes,
            _held: Held {
                _packets: raw,
                _keys: keys,
                _ivs: ivs,
                _aads: aads.into_iter().map(|(aad, _)| aad).collect(),
            },
        }))
    }
}

impl Side for IpsecMbBatch {
    fn run(&mut self) {
        // SAFETY: manager and keys are live and were created for this cipher and hash; every packet is valid for reads and
        // writes of its lengths, and tags have room; this object holds all of it at a fixed address.
        let done = unsafe { (self.run)(self.manager.as_ptr(), &self.batch) };
        assert_eq!(done, self.batch.count, "ipsec-mb does all packets");
    }

    fn outcome(&mut self) -> Vec<Done> {
        let data = self.packets.copies();
        if self.tag_bytes == 0 {
            return Done::without_tags(data);
        }
        let tags: Vec<_> = self.tags.iter().map(|tag| &tag[..self.tag_bytes]).collect();
        Done::with_tags(data, &tags)
    }
}

impl Interface {
    fn function(
        self,
    ) -> Result<unsafe extern "C" fn(*mut c_void, *const RawBatch) -> usize, Error> {
        let name = match self {
            Self::Jobs => "peer_ipsec_mb_jobs",
            Self::Burst => "peer_ipsec_mb_burst",
            Self::CipherBurst => "peer_ipsec_mb_cipher_burst",
            Self::Direct => "peer_ipsec_mb_gcm_direct",
        };
        symbol(name)
    }
}

/// Returns a function of the C file.
fn symbol<T: Copy>(name: &str) -> Result<T, Error> {
    // The library stays loaded: managers also hold it, but this function does not know how long they live.
    let library = std::mem::ManuallyDrop::new(fetched::load(super::library::FILE)?);
    // SAFETY: the types are those of the C file, and the library is never unloaded.
    unsafe { fetched::symbol(&library, name) }
}

fn cipher_key(
    library: &Arc<Functions>,
    manager: &Manager,
    cipher: Cipher,
    key: &[u8],
) -> Result<Option<Key<()>>, Error> {
    let made = match cipher {
        Cipher::Ctr | Cipher::Cbc => return manager.aes_key(key).map(|key| Some(key.erased())),
        Cipher::Gcm => return manager.gcm_key(key).map(|key| Some(key.erased())),
        Cipher::Des3Cbc => {
            assert_eq!(key.len(), 24, "three keys");
            let make: unsafe extern "C" fn(*mut c_void, *const u8) -> *mut c_void =
                symbol("peer_ipsec_mb_des3_key")?;
            // SAFETY: the manager is live, and the key has the 24 bytes that are read.
            unsafe { make(manager.as_ptr(), key.as_ptr()) }
        }
    };
    Key::of(library, made).map(Some)
}

fn hmac_key(
    library: &Arc<Functions>,
    manager: &Manager,
    hash: Hash,
    key: &[u8],
) -> Result<Key<()>, Error> {
    let make: unsafe extern "C" fn(*mut c_void, c_int, *const u8, usize) -> *mut c_void =
        symbol("peer_ipsec_mb_hmac_key")?;
    // SAFETY: the manager is live, and the key is passed with its own length.
    let made = unsafe { make(manager.as_ptr(), hash as c_int, key.as_ptr(), key.len()) };
    Key::of(library, made)
}

/// `struct packet`.
#[repr(C)]
struct RawPacket {
    key: *const c_void,
    mac: *const c_void,
    iv: *const u8,
    aad: *const u8,
    aad_len: usize,
    src: *const u8,
    dst: *mut u8,
    len: usize,
    hashed_before: usize,
    tag: *mut u8,
    tag_len: usize,
}

/// `struct batch`.
#[repr(C)]
struct RawBatch {
    cipher: c_int,
    hash: c_int,
    open: c_int,
    key_len: usize,
    count: usize,
    packets: *const RawPacket,
}
