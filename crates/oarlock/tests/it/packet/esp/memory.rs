//! Memory: guard pages, and forked children.
#![allow(unsafe_code)]

use std::ptr;

use oarlock::packet::esp::{InboundPacket, OutboundPacket};

use super::{association, is_cbc, pair, suites};
use crate::child::{end_of, fork, leave};
use crate::common::accelerator;

/// Memory between two inaccessible pages.
struct Guarded {
    mapping: *mut u8,
}

impl Guarded {
    fn new() -> Self {
        // SAFETY: a fresh private mapping; the pages that become accessible lie within it.
        let mapping = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let bytes = INNER_BYTES + 2 * PAGE_BYTES;
            let mapping = libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(mapping, libc::MAP_FAILED);
            let inner = mapping.byte_add(PAGE_BYTES);
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(inner, INNER_BYTES, access), 0);
            mapping.cast()
        };
        Self { mapping }
    }

    fn inner(&mut self) -> &mut [u8] {
        // SAFETY: the range is accessible and zeroed; the mutable borrow excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.add(PAGE_BYTES), INNER_BYTES) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: `new` created the mapping, and no reference to it remains.
        unsafe { libc::munmap(self.mapping.cast(), INNER_BYTES + 2 * PAGE_BYTES) };
    }
}

const PAGE_BYTES: usize = 4096;
const INNER_BYTES: usize = 2 * PAGE_BYTES;

/// Packets are sealed and opened against either page, several at once, so that lanes have neighbours.
#[test]
fn nothing_beyond_a_packet_is_touched() {
    let accelerator = accelerator();
    for suite in suites() {
        for extended in [false, true] {
            let association = association(suite).extended_sequence_numbers(extended);
            let (mut outbound, mut inbound) = pair(&accelerator, &association);
            let lengths = (0..20).chain([63, 64, 65, 127, 1399, 1400, 1401, 4000]);
            for bytes in lengths {
                let mut pages = [Guarded::new(), Guarded::new(), Guarded::new()];
                // The least room that the packet needs.
                let body = (bytes + 2_usize).next_multiple_of(super::align(suite));
                let start = suite.before_bytes();
                let all = start + body + super::icv_bytes(suite);
                let mut buffers: Vec<_> = (pages.iter_mut().zip([true, false, true]))
                    .map(|(pages, at_end)| {
                        let inner = pages.inner();
                        match at_end {
                            true => &mut inner[INNER_BYTES - all..],
                            false => &mut inner[..all],
                        }
                    })
                    .collect();
                let mut packets: Vec<_> = (buffers.iter_mut())
                    .map(|it| OutboundPacket::new(it, start..start + bytes, 4))
                    .collect();
                outbound.seal(&mut packets);
                for packet in &packets {
                    assert_eq!(packet.sealed().unwrap().len(), all);
                }
                let mut packets: Vec<_> = (buffers.iter_mut())
                    .map(|it| InboundPacket::new(it))
                    .collect();
                inbound.open(&mut packets);
                for packet in &packets {
                    assert_eq!(packet.opened().unwrap().payload, vec![0; bytes]);
                }
            }
        }
    }
}

/// A child that continues its parent's association, which it should not, at least has IVs of its own: those fetched before
/// the fork are the parent's.
#[test]
fn a_forked_child_has_ivs_of_its_own_and_seals_on() {
    for suite in suites() {
        let (mut outbound, mut inbound) = pair(&accelerator(), &association(suite));
        super::sealed(&mut outbound, b"before", 4);
        let mut pipe = [0; 2];
        // SAFETY: `pipe` has room for two descriptors.
        assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
        // SAFETY: the child seals, writes and leaves without returning.
        let child = unsafe { fork() };
        if child == 0 {
            let packet = super::sealed(&mut outbound, b"behind", 4);
            // SAFETY: `packet` holds `packet.len()` bytes, fewer than a pipe buffers.
            let written = unsafe { libc::write(pipe[1], packet.as_ptr().cast(), packet.len()) };
            leave(i32::from(written != packet.len() as isize));
        }
        let ours = super::sealed(&mut outbound, b"behind", 4);
        let mut theirs = vec![0; ours.len()];
        assert_eq!(end_of(child), 0, "{suite:?}");
        // SAFETY: `theirs` has room for its length; the descriptors are closed once.
        unsafe {
            let read = libc::read(pipe[0], theirs.as_mut_ptr().cast(), theirs.len());
            assert_eq!(read, theirs.len() as isize);
            libc::close(pipe[0]);
            libc::close(pipe[1]);
        }
        assert_eq!(ours != theirs, is_cbc(suite), "{suite:?}");
        assert_eq!(super::opened(&mut inbound, &theirs).unwrap().0, b"behind");
    }
}
