//! The framework over the CPU and simulated boards.

mod blocking;
mod failure;
mod kinds;
#[cfg(feature = "library")]
mod library;
mod references;
mod scattered;
mod services;
mod sessions;
mod sharing;
mod storm;
mod without_sessions;

use std::sync::Arc;
use std::time::Duration;

use oarlock::Algorithm;
use oarlock::device::{EngineBoard, Fault, Injection, SimulatedEngine, When, visible_cpu};
use oarlock::framework::{
    ChainOrder, Check, Framework, HashAlgorithm, IvBytes, Layout, Service, SessionSpec,
};
use oarlock::{Direction, framework};
use rand::{RngExt, rngs::StdRng};

use crate::common::{accelerator, random_bytes};

/// Returns a framework with a board.
fn with_board(board: EngineBoard, check: Check) -> (Framework, Arc<SimulatedEngine>) {
    let framework = Framework::new(&accelerator());
    let device = engine("board", board);
    framework.register(device.clone(), check).unwrap();
    (framework, device)
}

fn engine(name: &str, board: EngineBoard) -> Arc<SimulatedEngine> {
    Arc::new(SimulatedEngine::new(name, board, visible_cpu().unwrap()).unwrap())
}

/// Returns a board that answers at once, at no cost.
fn quick() -> EngineBoard {
    EngineBoard {
        bytes_per_second: 1_000_000_000_000,
        per_request: Duration::ZERO,
        latency: Duration::ZERO,
        key_setup: Duration::ZERO,
        ..EngineBoard::default()
    }
}

fn faulty(faults: &[(Fault, When)]) -> EngineBoard {
    let faults = faults.iter();
    EngineBoard {
        faults: faults
            .map(|(fault, when)| Injection {
                fault: *fault,
                when: *when,
            })
            .collect(),
        ..quick()
    }
}

/// Keys for a service, and a message with its expected result.
struct Sample {
    service: Service,
    key: Vec<u8>,
    mac_key: Vec<u8>,
    iv: Vec<u8>,
    tag_bytes: usize,
    layout: Layout,
    plain: Vec<u8>,
    /// The message encrypted, with its tag, by other implementations.
    sealed: Vec<u8>,
    /// The expected decryption of `sealed`.
    opened: Vec<u8>,
}

/// One service of each kind, and two of some kinds.
const SERVICES: [Service; 17] = [
    Service::Cipher(Algorithm::Aes128Ctr),
    Service::Cipher(Algorithm::Aes256Ctr),
    Service::Cipher(Algorithm::ChaCha20),
    Service::Cipher(Algorithm::Aes128Cbc),
    Service::Cipher(Algorithm::Aes256Cbc),
    Service::Aead(Algorithm::Aes128Gcm),
    Service::Aead(Algorithm::Aes256Gcm),
    Service::Aead(Algorithm::ChaCha20Poly1305),
    Service::Mac(HashAlgorithm::Sha1),
    Service::Mac(HashAlgorithm::Sha256),
    Service::Mac(HashAlgorithm::Sha384),
    Service::Mac(HashAlgorithm::Sha512),
    Service::Digest(HashAlgorithm::Sha256),
    Service::Chained {
        cipher: Algorithm::Aes128Cbc,
        mac: HashAlgorithm::Sha1,
        order: ChainOrder::EncryptThenMac,
    },
    Service::Chained {
        cipher: Algorithm::Aes256Ctr,
        mac: HashAlgorithm::Sha256,
        order: ChainOrder::EncryptThenMac,
    },
    Service::Chained {
        cipher: Algorithm::Aes128Ctr,
        mac: HashAlgorithm::Sha512,
        order: ChainOrder::MacThenEncrypt,
    },
    Service::Chained {
        cipher: Algorithm::Aes256Cbc,
        mac: HashAlgorithm::Sha256,
        order: ChainOrder::MacThenEncrypt,
    },
];

impl Sample {
    fn new(service: Service, random: &mut StdRng) -> Self {
        let cipher = service.cipher();
        let hash = service.hash();
        let is_chained = matches!(service, Service::Chained { .. });
        let key = random_bytes(random, cipher.map_or(0, Algorithm::key_bytes));
        let mac_key = match service {
            Service::Mac(_) | Service::Chained { .. } => {
                let bytes = random.random_range(0..150);
                random_bytes(random, bytes)
            }
            _ => Vec::new(),
        };
        let iv_bytes = match cipher.map(Algorithm::kind) {
            Some(oarlock::Kind::Stream { iv_bytes, .. }) => iv_bytes,
            Some(oarlock::Kind::Aead) => 12,
            Some(_) => 16,
            None => 0,
        };
        let iv = random_bytes(random, iv_bytes);
        let tag_bytes = match (service, hash) {
            (Service::Aead(_), _) => 16,
            (Service::Digest(hash), _) => hash.digest_bytes(),
            (_, Some(hash)) => random.random_range(1..=hash.digest_bytes()),
            _ => 0,
        };
        let mut text = match random.random_range(0..4) {
            0 => random.random_range(0..64),
            1 => random.random_range(0..20_000),
            _ => random.random_range(0..2000),
        };
        if cipher.is_some_and(|cipher| cipher.kind() == oarlock::Kind::Cbc) {
            text &= !15;
        }
        let head = if cipher.is_none() || is_chained || tag_bytes > 0 {
            random.random_range(0..100)
        } else {
            0
        };
        let text = if cipher.is_none() { 0 } else { text };
        let layout = Layout::packet(head, text);
        let plain = random_bytes(random, head + text + tag_bytes);
        let mut sample = Self {
            service,
            key,
            mac_key,
            iv,
            tag_bytes,
            layout,
            sealed: plain.clone(),
            opened: Vec::new(),
            plain,
        };
        // The tag of TLS is within the encrypted part, followed by padding.
        let is_cbc = cipher.is_some_and(|cipher| cipher.kind() == oarlock::Kind::Cbc);
        let is_tls = matches!(
            service,
            Service::Chained {
                order: ChainOrder::MacThenEncrypt,
                ..
            }
        ) && is_cbc;
        if is_tls && text > sample.tag_bytes {
            sample.layout.tag = head + random.random_range(0..text - sample.tag_bytes);
        }
        sample.seal();
        sample
    }

    fn seal(&mut self) {
        let Layout {
            authenticated,
            encrypted,
            tag,
        } = self.layout.clone();
        let tag = tag..tag + self.tag_bytes;
        let sealed = &mut self.sealed;
        let head = sealed[authenticated].to_vec();
        let crypt = |data: &mut [u8]| {
            let algorithm = self.service.cipher().unwrap();
            references::encrypt(algorithm, &self.key, &self.iv, data);
        };
        let hmac = |hash, message: &[u8]| references::hmac(hash, &self.mac_key, message);
        let put = |sealed: &mut [u8], made: Vec<u8>| {
            sealed[tag.clone()].copy_from_slice(&made[..self.tag_bytes]);
        };
        let mut opened = None;
        match self.service {
            Service::Cipher(_) => crypt(&mut sealed[encrypted.clone()]),
            Service::Aead(algorithm) => {
                let text = &mut sealed[encrypted.clone()];
                let made = references::seal(algorithm, &self.key, &self.iv, &head, text);
                put(sealed, made);
            }
            Service::Mac(hash) => {
                let made = hmac(hash, &head);
                put(sealed, made);
            }
            Service::Digest(hash) => put(sealed, references::digest(hash, &head)),
            Service::Chained { mac, order, .. } => match order {
                ChainOrder::EncryptThenMac => {
                    crypt(&mut sealed[encrypted.clone()]);
                    let made = hmac(mac, &[&head, &sealed[encrypted.clone()]].concat());
                    put(sealed, made);
                }
                ChainOrder::MacThenEncrypt => {
                    let is_inside = encrypted.contains(&tag.start) && tag.end <= encrypted.end;
                    let end = if is_inside { tag.start } else { encrypted.end };
                    let made = hmac(mac, &[&head, &sealed[encrypted.start..end]].concat());
                    put(sealed, made);
                    opened = is_inside.then(|| sealed.clone());
                    crypt(&mut sealed[encrypted.clone()]);
                }
            },
            _ => {}
        }
        let plain = &self.plain[encrypted.clone()];
        self.opened = opened.unwrap_or_else(|| {
            let mut opened = self.sealed.clone();
            opened[encrypted].copy_from_slice(plain);
            opened
        });
    }

    fn spec(&self) -> SessionSpec<'_> {
        match self.service {
            Service::Cipher(algorithm) => SessionSpec::cipher(algorithm, &self.key, &self.iv),
            Service::Aead(algorithm) => SessionSpec::aead(algorithm, &self.key, &self.iv),
            Service::Mac(hash) => SessionSpec::hmac(hash, &self.mac_key, self.tag_bytes),
            Service::Digest(hash) => SessionSpec::digest(hash),
            Service::Chained { cipher, mac, order } => SessionSpec::chained(
                order,
                (cipher, &self.key, &self.iv),
                (mac, &self.mac_key, self.tag_bytes),
            ),
            _ => SessionSpec::random(),
        }
    }

    fn request(&self, direction: Direction, buffers: framework::Buffers) -> framework::Request {
        let request = match direction {
            Direction::Encrypt => framework::Request::encrypt(buffers),
            Direction::Decrypt => framework::Request::decrypt(buffers),
        };
        let request = request.with_layout(self.layout.clone());
        match self.service.cipher() {
            Some(_) => request.with_iv(IvBytes::new(&self.iv).unwrap()),
            None => request,
        }
    }

    /// Returns the input of a request in that direction, and its expected output.
    fn sides(&self, direction: Direction) -> (&[u8], &[u8]) {
        match direction {
            Direction::Encrypt => (&self.plain, &self.sealed),
            Direction::Decrypt => (&self.sealed, &self.opened),
        }
    }
}
