//! Tests the plan with the costs of each processor, whatever this machine is.
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use super::cut::{PAGE, STRIPE_BYTES_MAX};
use super::helpers::Helpers;
use super::pace::{Pace, Way};
use super::stripe::HANDOFF_NS_HOPED;
use crate::costs::cost::Machine;
use crate::costs::processors;

/// The pool of a machine.
struct PoolOf {
    awake: usize,
    machine: Machine,
}

impl Helpers for PoolOf {
    fn available(&self) -> usize {
        3
    }
    fn are_crowded(&self, _: Instant) -> bool {
        false
    }
    fn awake(&self) -> usize {
        self.awake
    }
    fn machine(&self) -> Machine {
        self.machine
    }
}

#[test]
fn every_kernel_on_every_processor_has_a_plan_that_fits_its_costs() {
    for (processor, costs) in processors::costs() {
        let machine = costs.machine().0;
        for (algorithm, backend) in processors::kernels() {
            let it = format!("{algorithm} by {backend} on {processor}");
            let (cost, _) = costs.of(algorithm, "cpu", backend).unwrap();
            let helpers = |bytes: usize, awake| {
                let pool = PoolOf { awake, machine };
                match Pace::new(cost).choose(bytes, Instant::now(), &pool) {
                    Way::Stripe { helpers } => helpers,
                    _ => 0,
                }
            };
            let sizes = || (0..40).map(|bits| 1_usize << bits);
            let first = |awake| sizes().find(|bytes| helpers(*bytes, awake) > 0);
            let (awake, asleep) = (first(3).expect(&it), first(0).expect(&it));
            // A sleeping helper is woken for work that outlasts its wake-up, an awake one for work that outlasts the
            // hand-off.
            assert!(awake <= asleep, "{it}: {awake}, {asleep}");
            let hoped_ns = (machine.handoff_ns / 2.0).min(HANDOFF_NS_HOPED);
            assert!(cost.ns(awake) > hoped_ns, "{it}: {awake}");
            assert!(cost.ns(asleep) > machine.wake_ns / 2.0, "{it}: {asleep}");
            // Work of a hundred wake-ups is never left to one thread.
            let is_long = |bytes: &usize| cost.ns(*bytes) > 100.0 * machine.wake_ns;
            for bytes in sizes().filter(is_long).filter(|bytes| *bytes > 4 * PAGE) {
                assert_eq!(
                    (helpers(bytes, 3), helpers(bytes, 0)),
                    (3, 3),
                    "{it}: {bytes}"
                );
                let stripe = Pace::new(cost).stripe_bytes(bytes, 4);
                assert!((1..=STRIPE_BYTES_MAX).contains(&stripe), "{it}: {stripe}");
            }
            // A sample needs some work to be worthwhile, and comes after some.
            let pace = Pace::new(cost);
            let long_ns = cost.ns(pace.long_bytes());
            assert!((LOOK_NS_MIN..1e6).contains(&long_ns), "{it}: {long_ns}");
            assert!(pace.unseen_bytes_max() > 0, "{it}");
        }
    }
}

/// Less work is never worth reading the clock and the pool.
const LOOK_NS_MIN: f64 = 800.0;
