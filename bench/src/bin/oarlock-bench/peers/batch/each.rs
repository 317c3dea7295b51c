//! Libraries that handle one packet per call, each with its key kept: OpenSSL, aws-lc.

use oarlock_measure::Error;
use oarlock_measure::cases::{CASES, Case};
use oarlock_measure::peers::{Aead, PeerFactory, Stream, Subject};

use super::buffers::{Batch, Packets, bytes_of, iv_of};
use super::side::{Done, Side};

/// Sets up a stream cipher or CBC of `factory`, with the key for `what` and the IV of each packet.
pub(crate) fn stream<const KEY_BYTES: usize>(
    factory: &PeerFactory,
    case: &str,
    batch: &Batch,
) -> Result<Box<dyn Side>, Error> {
    let streams = subjects::<KEY_BYTES>(factory, case, batch)?.into_iter();
    let streams = streams.map(|subject| match subject {
        Subject::Stream(stream) => Ok(stream),
        Subject::Aead(_) => Err(Error::Failed(format!("{case} is no stream"))),
    });
    Ok(Box::new(Streams {
        streams: streams.collect::<Result<_, _>>()?,
        ivs: batch.numbers().map(iv_of).collect(),
        packets: batch.packets(),
    }))
}

/// Sets up an AEAD that seals.
pub(crate) fn aead<const KEY_BYTES: usize>(
    factory: &PeerFactory,
    case: &str,
    batch: &Batch,
) -> Result<Box<dyn Side>, Error> {
    let aeads = subjects::<KEY_BYTES>(factory, case, batch)?.into_iter();
    let aeads = aeads.map(|subject| match subject {
        Subject::Aead(aead) => Ok(aead),
        Subject::Stream(_) => Err(Error::Failed(format!("{case} is no AEAD"))),
    });
    Ok(Box::new(Aeads {
        aeads: aeads.collect::<Result<_, _>>()?,
        nonces: batch
            .numbers()
            .map(|packet| bytes_of("nonce", packet))
            .collect(),
        aads: batch
            .numbers()
            .map(|packet| bytes_of("aad", packet))
            .collect(),
        tags: vec![[0; 16]; batch.lengths.len()],
        packets: batch.packets(),
    }))
}

fn subjects<const KEY_BYTES: usize>(
    factory: &PeerFactory,
    case: &str,
    batch: &Batch,
) -> Result<Vec<Subject>, Error> {
    let peer = (factory.open)(1)?;
    let case: &Case = CASES
        .iter()
        .find(|known| known.name == case)
        .ok_or_else(|| Error::Failed(format!("no case {case}")))?;
    let keys = batch
        .numbers()
        .map(|packet| bytes_of::<KEY_BYTES>("key", packet));
    keys.map(|key| peer.subject(case, &key)).collect()
}

struct Streams {
    streams: Vec<Box<dyn Stream>>,
    ivs: Vec<[u8; 16]>,
    packets: Packets,
}

impl Side for Streams {
    fn run(&mut self) {
        let all = self.streams.iter_mut().zip(&self.ivs);
        for ((stream, iv), packet) in all.zip(self.packets.each_mut()) {
            stream.set_iv(iv);
            stream.apply(packet);
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::without_tags(self.packets.copies())
    }
}

struct Aeads {
    aeads: Vec<Box<dyn Aead>>,
    nonces: Vec<[u8; 12]>,
    aads: Vec<[u8; AAD_BYTES]>,
    tags: Vec<[u8; 16]>,
    packets: Packets,
}

impl Side for Aeads {
    fn run(&mut self) {
        let all = self
            .aeads
            .iter_mut()
            .zip(self.nonces.iter().zip(&self.aads));
        let all = all.zip(&mut self.tags).zip(self.packets.each_mut());
        for (((aead, (nonce, aad)), tag), packet) in all {
            *tag = aead.seal(nonce, aad, packet);
        }
    }

    fn outcome(&mut self) -> Vec<Done> {
        Done::with_tags(self.packets.copies(), &self.tags)
    }
}

/// The length of an RTP header (RFC 3550), and of ESP's AAD with an extended sequence number (RFC 4106).
pub(crate) const AAD_BYTES: usize = 12;
