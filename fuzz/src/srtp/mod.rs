//! SRTP and SRTCP packets, genuine, altered and arbitrary, many in a call, compared with a plain implementation that
//! takes them one by one: the same are accepted, with the same content.

mod plain;

use arbitrary::Arbitrary;
use oarlock::Accelerator;
use oarlock::packet::PacketError;
use oarlock::packet::srtp::{InboundPacket, MasterKey, OutboundPacket, Policy, State, Suite};
use plain::{Plain, Protocol};

fuzz_target!(|input: Input| { input.run() });

#[derive(Arbitrary, Debug)]
struct Input {
    suite: u8,
    server: Server,
    encrypted_rtcp: bool,
    /// Bytes of the two MKIs, or none and one key.
    mki_bytes: u8,
    window: u8,
    streams_max: u8,
    calls: Vec<Call>,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Server {
    Nothing,
    Avx512,
    Vaes,
    Aes,
    Portable,
}

#[derive(Arbitrary, Debug)]
enum Call {
    /// Packets of a sender that uses the numbers it likes.
    In {
        is_rtcp: bool,
        packets: Vec<Packet>,
    },
    Out {
        is_rtcp: bool,
        packets: Vec<Raw>,
    },
    Move,
    State(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
struct Packet {
    raw: Raw,
    index: u32,
    key: bool,
    damage: Option<(u16, u8)>,
    cut: Option<u8>,
    /// As it is, and not protected.
    is_bare: bool,
}

#[derive(Arbitrary, Debug)]
struct Raw {
    /// Most of the time version 2.
    first: u8,
    is_any_version: bool,
    ssrc: u8,
    sequence: u16,
    rest: Vec<u8>,
}

impl Raw {
    fn bytes(&self, is_rtcp: bool) -> Vec<u8> {
        let first = if self.is_any_version {
            self.first
        } else {
            self.first & 0x3f | 0x80
        };
        let ssrc = [0, 0, 0, self.ssrc % 8];
        let [high, low] = self.sequence.to_be_bytes();
        let mut bytes = vec![first, 96, high, low];
        if !is_rtcp {
            bytes.extend([0; 4]);
        }
        bytes.extend(ssrc);
        bytes.extend(&self.rest);
        bytes
    }
}

impl Input {
    fn run(&self) {
        let suite = Suite::ALL[usize::from(self.suite) % Suite::ALL.len()];
        let keys: Vec<Vec<u8>> = (0..2)
            .map(|i| {
                (0..suite.key_bytes() as u8)
                    .map(|byte| byte * 3 + i)
                    .collect()
            })
            .collect();
        let mki_bytes = usize::from(self.mki_bytes % 5);
        let mkis = [vec![1; mki_bytes], vec![2; mki_bytes]];
        let named = [0, 1].map(|i| MasterKey {
            mki: &mkis[i],
            key: &keys[i],
        });
        let policy = if mki_bytes == 0 {
            Policy::new(suite, &keys[0])
        } else {
            Policy::with_keys(suite, &named)
        };
        let window = u64::from(self.window % 3 + 1) * 64;
        let streams_max = usize::from(self.streams_max % 10);
        let policy = policy
            .encrypt_rtcp(self.encrypted_rtcp)
            .replay_window(window as usize)
            .streams_max(streams_max);
        let accelerator = self.server.accelerator();
        let mut inbound = accelerator.srtp_inbound(&policy).unwrap();
        let mut outbound = accelerator.srtp_outbound(&policy).unwrap();
        let known = 1 + usize::from(mki_bytes > 0);
        let known: Vec<_> = (mkis.iter().cloned().zip(keys.iter().cloned()))
            .take(known)
            .collect();
        let mut receiver = Plain::new(
            suite,
            self.encrypted_rtcp,
            window,
            streams_max,
            known.clone(),
        );
        let mut sender = Plain::new(suite, self.encrypted_rtcp, window, streams_max, known);
        for call in &self.calls {
            match call {
                Call::In { is_rtcp, packets } => {
                    let protocol = Protocol::of(*is_rtcp);
                    let packets: Vec<_> = packets
                        .iter()
                        .map(|packet| packet.bytes(&receiver, protocol))
                        .collect();
                    let mut buffers = packets.clone();
                    let mut ours: Vec<_> = buffers
                        .iter_mut()
                        .map(|it| InboundPacket::new(it))
                        .collect();
                    if *is_rtcp {
                        inbound.unprotect_rtcp(&mut ours);
                    } else {
                        inbound.unprotect(&mut ours);
                    }
                    for (ours, packet) in ours.iter().zip(&packets) {
                        let expected = receiver.unprotect(protocol, packet);
                        let ours = ours.unprotected();
                        assert_ne!(ours, Err(PacketError::Pending));
                        let found = ours.ok().map(|it| (it.packet.to_vec(), it.index));
                        assert_eq!(found, expected, "{packet:02x?} in {self:?}");
                    }
                }
                Call::Out { is_rtcp, packets } => {
                    let protocol = Protocol::of(*is_rtcp);
                    let packets: Vec<_> = packets.iter().map(|it| it.bytes(*is_rtcp)).collect();
                    let behind = Suite::BEHIND_BYTES_MAX + mki_bytes;
                    let mut buffers: Vec<_> = (packets.iter())
                        .map(|packet| [&packet[..], &vec![0; behind]].concat())
                        .collect();
                    let mut ours: Vec<_> = (buffers.iter_mut().zip(&packets))
                        .map(|(buffer, packet)| OutboundPacket::new(buffer, packet.len()))
                        .collect();
                    if *is_rtcp {
                        outbound.protect_rtcp(&mut ours);
                    } else {
                        outbound.protect(&mut ours);
                    }
                    for (ours, packet) in ours.iter().zip(&packets) {
                        let expected = sender.protect(protocol, packet);
                        let found = ours.protected().ok().map(<[u8]>::to_vec);
                        assert_eq!(found, expected, "{packet:02x?} in {self:?}");
                    }
                }
                Call::Move => {
                    let state = State::from_bytes(&inbound.state().to_bytes()).unwrap();
                    inbound = accelerator.srtp_inbound(&policy).unwrap();
                    inbound.set_state(&state).unwrap();
                    let state = outbound.state();
                    outbound = accelerator.srtp_outbound(&policy).unwrap();
                    outbound.set_state(&state).unwrap();
                }
                Call::State(bytes) => {
                    let bytes = [b"oarlock srtp 1\n", &bytes[..]].concat();
                    if let Ok(state) = State::from_bytes(&bytes) {
                        assert_eq!(state.to_bytes(), bytes);
                        let mut other = accelerator.srtp_inbound(&policy).unwrap();
                        let _ = other.set_state(&state);
                    }
                }
            }
        }
    }
}

impl Packet {
    fn bytes(&self, receiver: &Plain, protocol: Protocol) -> Vec<u8> {
        let plain = self.raw.bytes(protocol == Protocol::Rtcp);
        let index = match protocol {
            // The sequence number that it carries, behind one of a few roll-overs.
            Protocol::Rtp => u64::from(self.index % 4) << 16 | u64::from(self.raw.sequence),
            Protocol::Rtcp => u64::from(self.index % 600),
        };
        let sealed = receiver.seal(protocol, usize::from(self.key), index, &plain);
        let mut bytes = match sealed {
            Some(sealed) if !self.is_bare => sealed,
            _ => plain,
        };
        if let Some((at, bits)) = self.damage
            && !bytes.is_empty()
        {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= bits;
        }
        if let Some(cut) = self.cut {
            bytes.truncate(bytes.len().saturating_sub(cut.into()));
        }
        bytes
    }
}

impl Server {
    fn accelerator(self) -> Accelerator {
        let mask = match self {
            Self::Nothing => "",
            Self::Avx512 => "-avx512",
            Self::Vaes => "-avx512,-vaes",
            Self::Aes => "-aes",
            Self::Portable => "-aes,-avx2",
        };
        Accelerator::builder()
            .max_threads(0)
            .cpu_mask(mask)
            .build()
            .unwrap()
    }
}
