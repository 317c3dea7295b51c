//! Scattered data: segments of any lengths, including 0 and 1, produce the same output as one piece.

use oarlock::framework::{
    Buffers, ChainOrder, Framework, FrameworkSession, HashAlgorithm, IvBytes, Layout, Place,
    Request, Service, SessionSpec,
};
use oarlock::{Algorithm, Direction, Error, Kind};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::SERVICES;
use crate::common::{accelerator, random_bytes};

/// Cuts data into segments of a short or long mean length; many are empty or have one byte.
fn segments(data: &[u8], random: &mut StdRng) -> Vec<Vec<u8>> {
    let longest = [1, 20, 300, 3000, 30_000][random.random_range(0..5)];
    let mut segments = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let bytes = match random.random_range(0..6) {
            0 => 0,
            1 => 1,
            // A multiple of 64, so that some end at a block's edge.
            2 => random.random_range(0..=longest) & !63,
            _ => random.random_range(0..=longest),
        };
        let (segment, after) = rest.split_at(bytes.min(rest.len()));
        segments.push(segment.to_vec());
        rest = after;
    }
    segments.push(Vec::new());
    segments
}

fn all_services() -> Vec<Service> {
    let more = [
        Service::Cipher(Algorithm::Aes192Ctr),
        Service::Aead(Algorithm::Aes192Gcm),
        Service::Digest(HashAlgorithm::Sha1),
        Service::Digest(HashAlgorithm::Sha384),
        Service::Digest(HashAlgorithm::Sha512),
        Service::Mac(HashAlgorithm::Md5),
        #[cfg(feature = "legacy")]
        Service::Cipher(Algorithm::TripleDesCtr),
        #[cfg(feature = "legacy")]
        Service::Cipher(Algorithm::Serpent256Ctr),
        #[cfg(feature = "legacy")]
        Service::Cipher(Algorithm::Camellia128Ctr),
        Service::Chained {
            cipher: Algorithm::ChaCha20,
            mac: HashAlgorithm::Sha384,
            order: ChainOrder::EncryptThenMac,
        },
        Service::Chained {
            cipher: Algorithm::Aes128Ctr,
            mac: HashAlgorithm::Md5,
            order: ChainOrder::EncryptThenMac,
        },
    ];
    SERVICES.into_iter().chain(more).collect()
}

struct Case {
    session: FrameworkSession,
    iv: Vec<u8>,
    tag_bytes: usize,
    is_cbc: bool,
    has_text: bool,
    has_head: bool,
}

impl Case {
    fn new(framework: &Framework, service: Service, random: &mut StdRng) -> Self {
        let cipher = service.cipher();
        let key = random_bytes(random, cipher.map_or(0, Algorithm::key_bytes));
        let kind = cipher.map(Algorithm::kind);
        let iv = match kind {
            Some(Kind::Stream { iv_bytes, .. }) => vec![0xff; iv_bytes],
            Some(Kind::Aead) => vec![3; 12],
            Some(_) => vec![4; 16],
            None => Vec::new(),
        };
        let spec = match service {
            Service::Cipher(algorithm) => SessionSpec::cipher(algorithm, &key, &iv),
            Service::Aead(algorithm) => SessionSpec::aead(algorithm, &key, &iv),
            Service::Mac(hash) => SessionSpec::hmac(hash, b"mac key", 12),
            Service::Digest(hash) => SessionSpec::digest(hash),
            Service::Chained { cipher, mac, order } => {
                SessionSpec::chained(order, (cipher, &key, &iv), (mac, b"mac key", 12))
            }
            other => panic!("{other}"),
        };
        Self {
            session: framework.session(&spec).unwrap(),
            tag_bytes: match service {
                Service::Cipher(_) => 0,
                Service::Aead(_) => 16,
                Service::Digest(hash) => hash.digest_bytes(),
                _ => 12,
            },
            is_cbc: matches!(kind, Some(Kind::Cbc)),
            has_text: cipher.is_some(),
            has_head: !matches!(service, Service::Cipher(_)),
            iv,
        }
    }

    /// Returns a layout with unprocessed bytes before, between and after the parts, and the tag first or last.
    fn layout(&self, random: &mut StdRng) -> (Layout, usize) {
        let gap = |random: &mut StdRng| random.random_range(0..40_usize);
        let length = |random: &mut StdRng| match random.random_range(0..4) {
            0 => random.random_range(0..40),
            1 => random.random_range(0..100_000),
            _ => random.random_range(0..6000),
        };
        let mut end = gap(random);
        let mut place = |bytes: usize, random: &mut StdRng| {
            let start = end;
            end = start + bytes + random.random_range(0..40_usize);
            start..start + bytes
        };
        let is_before = random.random::<bool>();
        let tag = is_before.then(|| place(self.tag_bytes, random));
        let head = if self.has_head { length(random) } else { 0 };
        let authenticated = place(head, random);
        let mut text = if self.has_text { length(random) } else { 0 };
        if self.is_cbc {
            text &= !15;
        }
        let encrypted = place(text, random);
        let tag = tag.unwrap_or_else(|| place(self.tag_bytes, random));
        let layout = Layout {
            authenticated,
            encrypted,
            tag: tag.start,
        };
        (layout, end)
    }

    fn run(
        &self,
        direction: Direction,
        layout: &Layout,
        buffers: Buffers,
    ) -> (Result<(), Error>, Buffers) {
        let request = match direction {
            Direction::Encrypt => Request::encrypt(buffers),
            Direction::Decrypt => Request::decrypt(buffers),
        };
        let mut request = request.with_layout(layout.clone()).at(Place::Here);
        if self.has_text {
            request = request.with_iv(IvBytes::new(&self.iv).unwrap());
        }
        let answer = self.session.submit(request).unwrap().wait().unwrap();
        (answer.outcome, answer.buffers)
    }
}

#[test]
fn segments_of_any_lengths_give_what_one_piece_gives() {
    let mut random = StdRng::seed_from_u64(11);
    let framework = Framework::new(&accelerator());
    for service in all_services() {
        let case = Case::new(&framework, service, &mut random);
        for round in 0..30 {
            let (layout, bytes) = case.layout(&mut random);
            let plain = random_bytes(&mut random, bytes);
            let (outcome, sealed) = case.run(Direction::Encrypt, &layout, plain.clone().into());
            assert_eq!(outcome, Ok(()), "{service}");
            let sealed = sealed.into_output();
            let (outcome, opened) = case.run(Direction::Decrypt, &layout, sealed.clone().into());
            assert_eq!(outcome, Ok(()), "{service}");
            let opened = opened.into_output();
            for (direction, given, expected) in [
                (Direction::Encrypt, &plain, &sealed),
                (Direction::Decrypt, &sealed, &opened),
            ] {
                let from = segments(given, &mut random);
                let to = segments(&vec![0xee; bytes], &mut random);
                for buffers in [
                    Buffers::scattered(from.clone()),
                    Buffers::separate(from.clone(), to),
                ] {
                    let said = format!("{service} {round} {direction:?} {layout:?} {buffers:?}");
                    let (outcome, made) = case.run(direction, &layout, buffers);
                    assert_eq!(outcome, Ok(()), "{said}");
                    let output = made.output().collect::<Vec<_>>().concat();
                    assert!(output == *expected, "{said}");
                }
            }
            if case.tag_bytes == 0 {
                continue;
            }
            // Any byte that is authenticated, or of the tag.
            let mut forged = sealed.clone();
            let at = match random.random_range(0..3) {
                0 if !layout.authenticated.is_empty() => {
                    random.random_range(layout.authenticated.clone())
                }
                1 if !layout.encrypted.is_empty() => random.random_range(layout.encrypted.clone()),
                _ => layout.tag + random.random_range(0..case.tag_bytes),
            };
            forged[at] ^= 1;
            let from = segments(&forged, &mut random);
            let to = segments(&vec![0xee; bytes], &mut random);
            for buffers in [
                Buffers::scattered(from.clone()),
                Buffers::separate(from, to),
            ] {
                let (outcome, after) = case.run(Direction::Decrypt, &layout, buffers.clone());
                assert_eq!(outcome, Err(Error::AuthenticationFailed), "{service} {at}");
                assert!(after == buffers, "{service} {round} {at}");
            }
        }
    }
}

#[test]
fn no_segments_and_empty_ones_are_data_too() {
    let framework = Framework::new(&accelerator());
    let mut random = StdRng::seed_from_u64(12);
    for service in all_services() {
        let case = Case::new(&framework, service, &mut random);
        let layout = Layout::packet(0, 0);
        let tag = vec![0; case.tag_bytes];
        let (outcome, one) = case.run(Direction::Encrypt, &layout, tag.clone().into());
        assert_eq!(outcome, Ok(()));
        let tag_in_bytes: Vec<_> = tag.iter().map(|byte| vec![*byte]).collect();
        for from in [
            vec![Vec::new(), tag.clone(), Vec::new()],
            tag_in_bytes.clone(),
        ] {
            let buffers = Buffers::separate(from, vec![tag.clone(), Vec::new()]);
            let (outcome, made) = case.run(Direction::Encrypt, &layout, buffers);
            assert_eq!(outcome, Ok(()));
            let output = made.output().collect::<Vec<_>>().concat();
            assert_eq!(
                output,
                one.output().collect::<Vec<_>>().concat(),
                "{service}"
            );
        }
    }
}
