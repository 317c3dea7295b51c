//! AES-CBC beside HMAC: each packet is hashed up to where it is encrypted already, while its next blocks are
//! encrypted.

use super::chained::CbcHmac;
use super::hmac::{Hash, HashBackend, Lanes, Phase};
use crate::key::BLOCK_BYTES;
use crate::wipe::wipe;
use crate::x86_64::batch::{beside as kernels, cbc};
use crate::x86_64::{Avx512, Vaes512};

/// Packets that are worked on at once.
const LANES: usize = 16;

/// Bytes that a step of the hash takes, and the cipher beside it.
const STEP_BYTES: usize = 64;

/// Steps that lanes without data to encrypt have room for.
const IDLE_STEPS: usize = 16;

/// Whether the packets have keys of one length, and the hash has steps of 64 bytes.
pub(super) fn fits<H: Hash>(packets: &[CbcHmac<'_, H>]) -> bool {
    let sizes = |packet: &CbcHmac<'_, H>| packet.cipher.schedule.size;
    H::BLOCK_BYTES == STEP_BYTES
        && packets.len() > LANES / 4
        && packets
            .windows(2)
            .all(|two| sizes(&two[0]) == sizes(&two[1]))
}

/// How far a packet is encrypted, in bytes from its start.
#[derive(Clone, Copy)]
struct Slot {
    start: *mut u8,
    bytes: usize,
    next: usize,
    end: usize,
}

impl Slot {
    const EMPTY: Self = Self {
        start: core::ptr::null_mut(),
        bytes: 0,
        next: 0,
        end: 0,
    };

    /// Bytes that are to be encrypted.
    fn pending(&self) -> usize {
        self.end - self.next
    }

    /// Bytes at the front of the packet that are what they will be.
    fn ready(&self) -> usize {
        if self.pending() > 0 {
            self.next
        } else {
            self.bytes
        }
    }
}

/// Memory for lanes that have less than a step to encrypt, or nothing.
struct Spare {
    rests: [[u8; STEP_BYTES]; LANES],
    idle: [u8; IDLE_STEPS * STEP_BYTES],
}

impl Drop for Spare {
    fn drop(&mut self) {
        wipe(self.rests.as_flattened_mut());
        wipe(&mut self.idle);
    }
}

/// Encrypts and authenticates packets that were checked and [`fits`].
pub(super) fn encrypt_then_mac<H: Hash>(tokens: (Vaes512, Avx512), packets: &mut [CbcHmac<'_, H>]) {
    let Some(first) = packets.first() else {
        return;
    };
    let size = first.cipher.schedule.size;
    let mut lanes = Lanes::<H>::new(HashBackend::Avx512(tokens.1));
    let mut streams = cbc::Lanes::<LANES>::new(size.rounds());
    let mut slots = [Slot::EMPTY; LANES];
    let mut spare = Spare {
        rests: [[0; STEP_BYTES]; LANES],
        idle: [0; IDLE_STEPS * STEP_BYTES],
    };
    for lane in 0..LANES {
        streams.begin(lane, &first.cipher.schedule, first.iv);
    }
    let mut next = 0;
    loop {
        let mut busy = false;
        for (lane, slot) in slots.iter_mut().enumerate() {
            while lanes.left[lane] == 0 && slot.pending() == 0 {
                if lanes.phase[lane] != Phase::Idle {
                    let packet = &mut packets[lanes.request[lane]];
                    if lanes.next_phase(lane, packet.mac) {
                        continue;
                    }
                    let bytes = packet.tag.len();
                    packet.tag.copy_from_slice(&lanes.tails[lane][..bytes]);
                }
                let Some(packet) = packets.get_mut(next) else {
                    break;
                };
                *slot = Slot {
                    start: packet.packet.as_mut_ptr(),
                    bytes: packet.packet.len(),
                    next: packet.encrypted.start,
                    end: packet.encrypted.end,
                };
                streams.begin(lane, &packet.cipher.schedule, packet.iv);
                // SAFETY: the packet stays borrowed; nothing writes to what is read meanwhile.
                unsafe { lanes.begin(lane, next, packet.mac, slot.start, slot.bytes) };
                lanes.release(lane, slot.ready());
                next += 1;
            }
            busy |= lanes.phase[lane] != Phase::Idle;
        }
        if !busy {
            return;
        }
        step(
            tokens,
            size,
            &mut lanes,
            &mut streams,
            &mut slots,
            &mut spare,
        );
    }
}

/// Takes all lanes as far as they go together.
fn step<H: Hash>(
    tokens: (Vaes512, Avx512),
    size: crate::key::KeySize,
    lanes: &mut Lanes<H>,
    streams: &mut cbc::Lanes<LANES>,
    slots: &mut [Slot; LANES],
    spare: &mut Spare,
) {
    let mut steps = usize::MAX;
    let mut hashed = None;
    let mut encrypts = false;
    for (lane, slot) in slots.iter().enumerate() {
        let (left, pending) = (lanes.left[lane], slot.pending());
        if left > 0 {
            hashed = Some(lane);
        }
        if pending == 0 {
            steps = steps.min(IDLE_STEPS);
            if left > 0 {
                steps = steps.min(left);
            }
            continue;
        }
        encrypts = true;
        steps = steps.min((pending / STEP_BYTES).max(1));
        if left == 0 {
            // Soon there will be something to hash.
            steps = steps.min(2);
        }
    }
    if !encrypts {
        return lanes.run();
    }
    let Spare { rests, idle } = spare;
    for (lane, (slot, rest)) in slots.iter().zip(&mut *rests).enumerate() {
        let place = match slot.pending() {
            0 => idle.as_mut_ptr(),
            // SAFETY: within the packet, which stays borrowed.
            pending @ 1..STEP_BYTES => unsafe {
                let from = slot.start.add(slot.next);
                core::ptr::copy_nonoverlapping(from, rest.as_mut_ptr(), pending);
                rest.as_mut_ptr()
            },
            // SAFETY: as above.
            _ => unsafe { slot.start.add(slot.next) },
        };
        streams.from[lane] = place;
        streams.to[lane] = place;
    }
    // SAFETY: packets have as many steps to be encrypted, or lie in the spare memory. A message has as many
    // blocks that are encrypted already; or it has one, and each step encrypts the next.
    unsafe {
        match hashed {
            Some(one) => lanes.run_by(steps, one, |rows, from| {
                kernels::absorb_and_encrypt::<H>(tokens, rows, from, streams, size, steps);
            }),
            None => kernels::encrypt(tokens.0, streams, size, steps),
        }
    }
    for (lane, (slot, rest)) in slots.iter_mut().zip(rests).enumerate() {
        match slot.pending() {
            0 => continue,
            pending @ 1..STEP_BYTES => {
                // SAFETY: as above.
                unsafe {
                    let to = slot.start.add(slot.next);
                    core::ptr::copy_nonoverlapping(rest.as_ptr(), to, pending);
                }
                slot.next = slot.end;
            }
            _ => slot.next += steps * STEP_BYTES,
        }
        lanes.release(lane, slot.ready());
    }
}

const _: () = assert!(STEP_BYTES.is_multiple_of(BLOCK_BYTES));
