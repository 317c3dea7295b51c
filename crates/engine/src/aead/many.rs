//! Many short messages under one key, over several threads.

use inout::InOutBuf;
use oarlock_kernels::aead::TAG_BYTES;

use super::{AcceleratedAead, refused, undone};
use crate::Error;
use crate::costs::cost::Cost;
use crate::costs::stats::AlgorithmStats;
use crate::device::keyed::aead::AeadKey;
use crate::plan::long::{Look, look};
use crate::plan::pace::Way;
use crate::work::algorithm::Direction;
use oarlock_threads::pool::Slots;

impl<A: Sync> AcceleratedAead<A> {
    /// What a message costs on one thread.
    #[doc(hidden)]
    pub fn cost(&self) -> Cost {
        self.route.session().cost
    }

    /// Has `one` do each of `messages`, which have `bytes` together: here and, where that is expected to
    /// gain, on helpers too.
    #[doc(hidden)]
    pub fn each<T: Send>(
        &self,
        bytes: usize,
        messages: &mut [T],
        direction: Direction,
        one: &(impl Fn(&Self, &mut T) + Sync),
    ) {
        let route = &self.route;
        route.count_many(direction, messages.len(), bytes);
        // The fixed cost of a message, on top of that of its bytes, expressed in bytes.
        let cost = route.session().cost;
        let setup_bytes = (cost.setup_ns * cost.bytes_per_ns) as usize;
        let bytes = bytes.saturating_add(messages.len().saturating_mul(setup_bytes));
        let inline = |messages: &mut [T]| messages.iter_mut().for_each(|it| one(self, it));
        if route.is_short(bytes) {
            return inline(messages);
        }
        route.follow_options();
        let (Some(engine), Some(_)) = (route.engine(), route.at_home()) else {
            return inline(messages);
        };
        let looked = {
            let Some(mut pace) = route.pace() else {
                return inline(messages);
            };
            let looked = look(engine, route.strategy(), &mut pace, bytes, true);
            let threads = match looked {
                Look::At(_, Way::Stripe { helpers }) => helpers + 1,
                _ => 1,
            };
            (looked, pace.stripe_bytes(bytes, threads))
        };
        let (request, way, stripe_bytes) = match looked {
            (Look::Inline, _) => return inline(messages),
            (Look::PassOver, _) => {
                inline(messages);
                if let Some(mut pace) = route.pace() {
                    pace.pass_over();
                }
                return;
            }
            (Look::At(request, way), stripe_bytes) => (request, way, stripe_bytes),
        };
        let mut counts = AlgorithmStats::default();
        match way {
            Way::Stripe { helpers } if bytes > stripe_bytes => {
                let run = stripe_bytes * messages.len() / bytes;
                let slots = Slots::new(messages, run);
                let take = |role| slots.take(role);
                request.share_out(helpers, &mut counts, &take, &|run: &mut [T]| inline(run));
            }
            _ => inline(messages),
        }
        if let Some(mut pace) = route.pace() {
            request.end(way, &mut pace, &mut counts);
        }
        route.look_again();
        let is_striped = counts.striped_requests > 0;
        route.count_long(counts);
        if is_striped {
            route.hand_in();
        }
    }

    /// As [`seal`](Self::seal), on the calling thread and without counting it.
    #[inline]
    #[doc(hidden)]
    pub fn seal_one(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
    ) -> Result<[u8; TAG_BYTES], Error> {
        match self.route.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.seal(nonce, aad, data).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => {
                aead.seal(nonce, aad, data.reborrow()).map_err(refused)
            }
            _ => self.seal_by_the_device(nonce, aad, data.reborrow()),
        }
    }

    /// As [`open`](Self::open), on the calling thread and without counting it. What is not authentic
    /// becomes zeros, which takes no second pass.
    #[inline]
    #[doc(hidden)]
    pub fn open_one(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        match self.route.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.open_or_zero(nonce, aad, data, tag).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => aead
                .open_or_zero(nonce, aad, data.reborrow(), tag)
                .map_err(refused),
            _ => self.route.by_a_device(|key| {
                key.open_or_zero(nonce, aad, data.reborrow(), tag)
                    .map_err(undone)
            }),
        }
    }

    /// As [`open`](Self::open), on the calling thread and without counting it: what is not authentic is the
    /// ciphertext again.
    #[inline]
    pub fn open_one_or_keep(
        &self,
        nonce: &[u8],
        aad: &[u8],
        mut data: InOutBuf<'_, '_, u8>,
        tag: &[u8; TAG_BYTES],
    ) -> Result<(), Error> {
        match self.route.at_home() {
            Some(AeadKey::Gcm(gcm)) => gcm.open(nonce, aad, data, tag).map_err(refused),
            Some(AeadKey::ChaCha20Poly1305(aead)) => {
                aead.open(nonce, aad, data.reborrow(), tag).map_err(refused)
            }
            _ => self.open_by_the_device(nonce, aad, data.reborrow(), tag),
        }
    }
}
