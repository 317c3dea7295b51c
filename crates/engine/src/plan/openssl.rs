//! Decides what is offered to programs that use OpenSSL: the algorithms that are at least as fast as OpenSSL's own, by
//! a calibration of this machine with that libcrypto, or else by the tables of this CPU class. There are no tables for
//! CPUs without AES instructions: there everything is left to OpenSSL unless a calibration finds it as fast.

use std::fmt;

use oarlock_kernels::cpu::{Cpu, Family, Feature};

use crate::costs::class::CpuClass;
use crate::costs::openssl::{
    CallRatios, Measured, RatioSource, Ratios, compiled, compiled_primitive, version,
};
use crate::options::{Offer, Options, Strategy};
use crate::work::algorithm::Algorithm;
use crate::work::primitive::Primitive;

/// The ciphers that the provider has, whether or not it offers them on this machine.
const PROVIDED: [Algorithm; 14] = [
    Algorithm::Aes128Ctr,
    Algorithm::Aes192Ctr,
    Algorithm::Aes256Ctr,
    Algorithm::Aes128Gcm,
    Algorithm::Aes192Gcm,
    Algorithm::Aes256Gcm,
    Algorithm::Aes128Cbc,
    Algorithm::Aes192Cbc,
    Algorithm::Aes256Cbc,
    Algorithm::ChaCha20,
    Algorithm::ChaCha20Poly1305,
    Algorithm::Camellia128Ctr,
    Algorithm::Camellia192Ctr,
    Algorithm::Camellia256Ctr,
];

/// An operation of the OpenSSL provider: its measured speed, and whether it is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Provided {
    /// The operation.
    pub operation: Algorithm,
    /// The ratio of its rate to OpenSSL's, and the source of that figure; `None` if it was not measured against this
    /// OpenSSL.
    pub ratios: Option<(Ratios, RatioSource)>,
    /// Why it is left to OpenSSL; `None` if it is offered.
    pub withheld: Option<Withheld>,
}

/// A primitive of the OpenSSL provider: its measured speed, and whether it is offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProvidedPrimitive {
    /// The primitive.
    pub primitive: Primitive,
    /// The ratio of its rate to OpenSSL's by [`Primitive::calls`], and the source of that figure; `None` if it was not
    /// measured, or this OpenSSL does not have it.
    pub ratios: Option<(CallRatios, RatioSource)>,
    /// Why it is left to OpenSSL; `None` if it is offered.
    pub withheld: Option<Withheld>,
    /// Whether it is offered only because of [`Offer::All`].
    pub is_forced: bool,
}

/// Why an operation is left to OpenSSL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Withheld {
    /// OpenSSL is faster at requests of this length.
    Slower {
        /// Our rate in thousandths of OpenSSL's.
        thousandths: u32,
        /// The length of the requests in bytes.
        bytes: usize,
    },
    /// OpenSSL is faster at calls of this kind.
    SlowerCall {
        /// Our rate in thousandths of OpenSSL's.
        thousandths: u32,
        /// One of [`Primitive::calls`].
        call: &'static str,
    },
    /// Another curve is left to OpenSSL, and the provider takes all curves or none: see [`Primitive::is_ec`].
    WithCurve(Primitive),
    /// OpenSSL has no post-quantum groups before 3.5, and the configuration does not ask for them.
    NotAsked,
    /// This OpenSSL does not have it, and the provider offers it only where OpenSSL has its own.
    Absent,
    /// Neither a table nor a calibration says how fast it is.
    Unknown,
}

impl Provided {
    /// Returns whether this is offered although OpenSSL is faster: by [`Offer::All`], or by a strategy.
    pub fn is_forced(&self) -> bool {
        let is_level = self.ratios.is_some_and(|(ratios, _)| ratios.is_level());
        self.withheld.is_none() && !is_level
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slower { thousandths, bytes } => write!(
                f,
                "OpenSSL is faster: {:.2} of its rate with {bytes} bytes",
                f64::from(*thousandths) / 1000.0
            ),
            Self::SlowerCall { thousandths, call } => write!(
                f,
                "OpenSSL is faster: {:.2} of its rate in {call}",
                f64::from(*thousandths) / 1000.0
            ),
            Self::WithCurve(other) => write!(f, "left to OpenSSL together with {other}"),
            Self::NotAsked => f.write_str("the configuration does not ask for post-quantum groups"),
            Self::Absent => f.write_str("this OpenSSL does not have it"),
            Self::Unknown => f.write_str("it was not measured against this OpenSSL"),
        }
    }
}

/// Compares each of [`PROVIDED`] with an OpenSSL of the version `openssl`.
#[doc(hidden)]
pub fn provided(
    cpu: Cpu,
    options: &Options,
    openssl: &str,
    calibration: Option<&Measured>,
) -> Vec<Provided> {
    provided_on(Cpu::family(), cpu, options, openssl, calibration)
}

/// Does the same on any processor.
fn provided_on(
    processor: Option<Family>,
    cpu: Cpu,
    options: &Options,
    openssl: &str,
    calibration: Option<&Measured>,
) -> Vec<Provided> {
    let class = CpuClass::of(cpu);
    let of = |operation| {
        let measured = calibration.and_then(|calibration| {
            let found = calibration.ratios.iter().find(|one| one.0 == operation)?;
            Some((found.1, RatioSource::Calibration))
        });
        let ratios = measured.or_else(|| compiled(class, version(openssl)?, operation, processor));
        let withheld = match ratios {
            _ if is_forced(operation, options) => None,
            Some((ratios, _)) if ratios.is_level() => None,
            Some((ratios, _)) => {
                let (thousandths, bytes) = ratios.lowest();
                Some(Withheld::Slower { thousandths, bytes })
            }
            None => Some(Withheld::Unknown),
        };
        Provided {
            operation,
            ratios,
            withheld,
        }
    };
    PROVIDED.into_iter().map(of).collect()
}

/// Only Camellia depends on the strategy: it is for programs with spare cores.
fn is_forced(operation: Algorithm, options: &Options) -> bool {
    let is_spread = matches!(options.strategy, Strategy::Stripe | Strategy::Prefetch);
    let is_camellia = matches!(
        operation,
        Algorithm::Camellia128Ctr | Algorithm::Camellia192Ctr | Algorithm::Camellia256Ctr
    );
    options.offer == Offer::All || is_spread && is_camellia
}

/// Compares each primitive with an OpenSSL of the version `openssl`. An OpenSSL without post-quantum groups leaves
/// nothing to compare with: they are then offered if the configuration asks for them.
#[doc(hidden)]
pub fn provided_primitives(
    cpu: Cpu,
    options: &Options,
    openssl: &str,
    calibration: Option<&Measured>,
    asks_for_post_quantum: bool,
) -> Vec<ProvidedPrimitive> {
    provided_primitives_on(
        Cpu::family(),
        cpu,
        options,
        openssl,
        calibration,
        asks_for_post_quantum,
    )
}

/// Does the same on any processor.
fn provided_primitives_on(
    processor: Option<Family>,
    cpu: Cpu,
    options: &Options,
    openssl: &str,
    calibration: Option<&Measured>,
    asks_for_post_quantum: bool,
) -> Vec<ProvidedPrimitive> {
    let (class, has_sha) = (CpuClass::of(cpu), cpu.has(Feature::Sha));
    let version = version(openssl);
    let of = |primitive: Primitive| {
        let is_new = primitive.since() > FIRST;
        let is_compared = !is_new || version.is_some_and(|version| version >= primitive.since());
        let measured = calibration.and_then(|calibration| {
            let found = calibration
                .primitives
                .iter()
                .find(|one| one.0 == primitive)?;
            Some((found.1, RatioSource::Calibration))
        });
        let ratios = measured
            .or_else(|| compiled_primitive(class, version?, primitive, processor, has_sha))
            .filter(|_| is_compared);
        let withheld = match ratios {
            // Which algorithms a machine negotiates with others is its operator's decision.
            _ if !is_compared && primitive.is_group() => {
                (!asks_for_post_quantum).then_some(Withheld::NotAsked)
            }
            _ if !is_compared => Some(Withheld::Absent),
            Some((ratios, _)) if ratios.is_level(primitive) => None,
            Some((ratios, _)) => {
                let (thousandths, at) = ratios.lowest(primitive);
                let call = primitive.calls()[at];
                Some(Withheld::SlowerCall { thousandths, call })
            }
            None => Some(Withheld::Unknown),
        };
        ProvidedPrimitive {
            primitive,
            ratios,
            withheld,
            is_forced: false,
        }
    };
    let mut all: Vec<_> = Primitive::ALL.iter().copied().map(of).collect();
    let mut curves = all.iter().filter(|one| one.primitive.is_ec());
    if let Some(withheld) = curves.find(|one| one.withheld.is_some()) {
        let with = Withheld::WithCurve(withheld.primitive);
        for one in all.iter_mut().filter(|one| one.primitive.is_ec()) {
            one.withheld.get_or_insert(with);
        }
    }
    let is_forced = |one: &&mut ProvidedPrimitive| {
        let is_there = |it| !matches!(it, Withheld::NotAsked | Withheld::Absent);
        options.offer == Offer::All && one.withheld.is_some_and(is_there)
    };
    for one in all.iter_mut().filter(is_forced) {
        one.is_forced = true;
        one.withheld = None;
    }
    all
}

/// The first OpenSSL with providers.
const FIRST: (u32, u32) = (3, 0);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::openssl::{MadeFor, SIZES};
    use crate::costs::processors::{self, masked_cpus};

    fn calibration(of: &[(Algorithm, [u32; SIZES.len()])]) -> Measured {
        let ratio = |one: &(Algorithm, [u32; SIZES.len()])| {
            (one.0, Ratios::from_thousandths(one.1).unwrap())
        };
        Measured {
            made_for: MadeFor::default(),
            made: "2026-11-23".into(),
            ratios: of.iter().map(ratio).collect(),
            primitives: Vec::new(),
        }
    }

    fn find(all: &[Provided], operation: Algorithm) -> Provided {
        *all.iter().find(|one| one.operation == operation).unwrap()
    }

    #[test]
    fn a_calibration_replaces_the_table_both_ways() {
        let options = Options::default();
        let cpu = Cpu::detect();
        let by_table = provided(cpu, &options, "3.0.19", None);
        assert_eq!(by_table.len(), PROVIDED.len());
        let level = [1000; SIZES.len()];
        let slow = [2000, 2000, 2000, 2000, 740, 2000, 2000];
        for (ratios, withheld) in [
            (level, None),
            (
                slow,
                Some(Withheld::Slower {
                    thousandths: 740,
                    bytes: 16384,
                }),
            ),
        ] {
            for operation in PROVIDED {
                let calibration = calibration(&[(operation, ratios)]);
                let by_both = provided(cpu, &options, "3.0.19", Some(&calibration));
                let one = find(&by_both, operation);
                assert_eq!(one.withheld, withheld, "{operation}");
                assert_eq!(one.ratios.unwrap().1, RatioSource::Calibration);
                // What the calibration lacks still follows the table.
                for other in PROVIDED.into_iter().filter(|it| *it != operation) {
                    assert_eq!(find(&by_both, other), find(&by_table, other));
                }
            }
        }
        let said = find(
            &provided(
                cpu,
                &options,
                "3.0.19",
                Some(&calibration(&[(Algorithm::ChaCha20, slow)])),
            ),
            Algorithm::ChaCha20,
        );
        assert_eq!(
            said.withheld.unwrap().to_string(),
            "OpenSSL is faster: 0.74 of its rate with 16384 bytes"
        );
    }

    #[test]
    fn options_offer_what_is_slower() {
        let slow: Vec<_> = PROVIDED
            .map(|operation| (operation, [500; SIZES.len()]))
            .into();
        let calibration = calibration(&slow);
        let offered = |options: &str| -> Vec<Algorithm> {
            let options: Options = options.parse().unwrap();
            let all = provided(Cpu::detect(), &options, "4.0.0", Some(&calibration));
            let offered = all.into_iter().filter(|one| one.withheld.is_none());
            offered
                .inspect(|one| assert!(one.is_forced()))
                .map(|one| one.operation)
                .collect()
        };
        assert_eq!(offered(""), []);
        assert_eq!(offered("offer=auto,strategy=inline"), []);
        assert_eq!(offered("offer=all"), PROVIDED);
        assert_eq!(offered("strategy=stripe"), PROVIDED[11..]);
        assert_eq!(offered("strategy=prefetch"), PROVIDED[11..]);
    }

    #[test]
    fn every_processor_knows_what_it_offers_under_every_mask() {
        let options = Options::default();
        for cpu in masked_cpus() {
            for (processor, family) in processors::all() {
                for openssl in ["3.0.19", "3.5.4", "4.0.0"] {
                    let all = provided_on(family, cpu, &options, openssl, None);
                    assert_eq!(all.len(), PROVIDED.len());
                    for one in all {
                        let it = format!("{} on {processor}, {cpu:?}, {openssl}", one.operation);
                        assert_eq!(one.ratios.is_some(), cpu.has(Feature::Aes), "{it}");
                        let is_level = one.ratios.is_some_and(|(ratios, _)| ratios.is_level());
                        assert_eq!(one.withheld.is_none(), is_level, "{it}");
                    }
                }
            }
        }
    }

    fn calibration_of(of: &[(Primitive, Vec<u32>)]) -> Measured {
        let ratios = |one: &(Primitive, Vec<u32>)| {
            let ratios = CallRatios::from_thousandths(one.0, &one.1);
            (one.0, ratios.unwrap())
        };
        Measured {
            primitives: of.iter().map(ratios).collect(),
            ..calibration(&[])
        }
    }

    fn of(all: &[ProvidedPrimitive], primitive: Primitive) -> ProvidedPrimitive {
        *all.iter().find(|one| one.primitive == primitive).unwrap()
    }

    /// Returns ratios that are level except for the call `slow`.
    fn ratios(primitive: Primitive, slow: Option<usize>) -> Vec<u32> {
        let calls = 0..primitive.calls().len();
        let ratio = |call| if Some(call) == slow { 969 } else { 970 };
        calls.map(ratio).collect()
    }

    #[test]
    fn a_calibration_of_primitives_replaces_the_table_both_ways() {
        let options = Options::default();
        let provided = |openssl: &str, calibration: Option<&Measured>| {
            provided_primitives(Cpu::detect(), &options, openssl, calibration, false)
        };
        // A curve is offered only together with the others.
        let others = Primitive::ALL.iter().filter(|one| !one.is_ec());
        for primitive in others.copied() {
            for openssl in ["3.5.4", "4.0.0"] {
                let by_table = provided(openssl, None);
                assert_eq!(by_table.len(), Primitive::ALL.len());
                let level = [None].into_iter();
                for slow in level.chain((0..primitive.calls().len()).map(Some)) {
                    let calibration = calibration_of(&[(primitive, ratios(primitive, slow))]);
                    let all = provided(openssl, Some(&calibration));
                    let found = of(&all, primitive);
                    // A first use counts as level from 0.9 on.
                    let is_first = |call: &usize| primitive.calls()[*call].starts_with("first-");
                    let lost = slow.filter(|call| !is_first(call));
                    let withheld = lost.map(|call| Withheld::SlowerCall {
                        thousandths: 969,
                        call: primitive.calls()[call],
                    });
                    assert_eq!(found.withheld, withheld, "{primitive}");
                    assert_eq!(found.ratios.unwrap().1, RatioSource::Calibration);
                    // What the calibration lacks still follows the table.
                    let is_other = |one: &&ProvidedPrimitive| one.primitive != primitive;
                    for other in all.iter().filter(is_other) {
                        assert_eq!(*other, of(&by_table, other.primitive));
                    }
                }
            }
        }
        let calibration = calibration_of(&[(Primitive::X25519, vec![4000, 940])]);
        let said = of(&provided("3.0.19", Some(&calibration)), Primitive::X25519);
        assert_eq!(
            said.withheld.unwrap().to_string(),
            "OpenSSL is faster: 0.94 of its rate in derive"
        );
    }

    #[test]
    fn all_curves_are_offered_or_none() {
        let curves = || Primitive::ALL.iter().copied().filter(|one| one.is_ec());
        let options = Options::default();
        let level: Vec<_> = curves().map(|one| (one, ratios(one, None))).collect();
        let offered = |of: &[(Primitive, Vec<u32>)], options: &Options| {
            let calibration = calibration_of(of);
            provided_primitives(Cpu::detect(), options, "3.0.19", Some(&calibration), false)
        };
        let all = offered(&level, &options);
        assert!(curves().all(|one| of(&all, one).withheld.is_none()));
        for (at, slow) in curves().enumerate() {
            let mut one_slow = level.clone();
            one_slow[at].1 = ratios(slow, Some(1));
            let all = offered(&one_slow, &options);
            for one in curves() {
                let withheld = match one == slow {
                    true => Withheld::SlowerCall {
                        thousandths: 969,
                        call: "verify",
                    },
                    false => Withheld::WithCurve(slow),
                };
                assert_eq!(of(&all, one).withheld, Some(withheld), "{one}");
            }
            let all = offered(&one_slow, &"offer=all".parse().unwrap());
            assert!(curves().all(|one| of(&all, one).withheld.is_none()));
            assert!(curves().all(|one| of(&all, one).is_forced));
        }
        let said = Withheld::WithCurve(Primitive::EcP256).to_string();
        assert_eq!(said, "left to OpenSSL together with ec-p256");
    }

    #[test]
    fn post_quantum_groups_that_openssl_lacks_are_offered_if_they_are_asked_for() {
        let groups = || {
            let all = Primitive::ALL.iter().copied();
            all.filter(|one| one.is_group())
        };
        let slow: Vec<_> = groups().map(|one| (one, ratios(one, Some(0)))).collect();
        let slow = calibration_of(&slow);
        let auto = Options::default();
        let forced: Options = "offer=all".parse().unwrap();
        for (openssl, lacks) in [
            ("3.0.19", true),
            ("3.4.1", true),
            ("3.5.0", false),
            ("4.0.0", false),
        ] {
            for asks in [false, true] {
                let provided = |options: &Options| {
                    provided_primitives(Cpu::detect(), options, openssl, Some(&slow), asks)
                };
                for group in groups() {
                    let found = of(&provided(&auto), group);
                    let it = format!("{group} {openssl} {asks}");
                    assert_eq!(found.ratios.is_none(), lacks, "{it}");
                    assert_eq!(found.withheld.is_none(), lacks && asks, "{it}");
                    assert_eq!(
                        found.withheld == Some(Withheld::NotAsked),
                        lacks && !asks,
                        "{it}"
                    );
                    assert!(!found.is_forced, "{it}");
                    // No option makes programs negotiate more with others.
                    let found = of(&provided(&forced), group);
                    assert_eq!(found.withheld.is_none(), !lacks || asks, "{it}");
                    assert_eq!(found.is_forced, !lacks, "{it}");
                }
            }
        }
    }

    #[test]
    fn every_processor_knows_which_primitives_it_offers_under_every_mask() {
        let options = Options::default();
        for cpu in masked_cpus() {
            for (processor, family) in processors::all() {
                for openssl in ["3.0.19", "3.5.4", "4.0.0", "1.1.1w", ""] {
                    let all = provided_primitives_on(family, cpu, &options, openssl, None, false);
                    assert_eq!(all.len(), Primitive::ALL.len());
                    let is_level = |one: &ProvidedPrimitive| {
                        one.ratios
                            .is_some_and(|(ratios, _)| ratios.is_level(one.primitive))
                    };
                    let are_curves_level = all
                        .iter()
                        .all(|one| !one.primitive.is_ec() || is_level(one));
                    for one in &all {
                        let it = format!("{} on {processor}, {cpu:?}, {openssl}", one.primitive);
                        let lacks =
                            one.primitive.since() > FIRST && !["3.5.4", "4.0.0"].contains(&openssl);
                        let is_known = cpu.has(Feature::Aes)
                            && (cpu.has(Feature::Sha) || !one.primitive.is_hash())
                            && openssl.starts_with(['3', '4'])
                            && !lacks
                            && (!(one.primitive.signs_whole_messages()
                                || one.primitive.is_ml_kem())
                                || one.ratios.is_some());
                        assert_eq!(one.ratios.is_some(), is_known, "{it}");
                        let is_offered =
                            is_level(one) && (!one.primitive.is_ec() || are_curves_level);
                        assert_eq!(one.withheld.is_none(), is_offered, "{it}");
                        let is_said = match one.withheld {
                            None => is_level(one),
                            Some(Withheld::SlowerCall { .. }) => !is_level(one),
                            Some(Withheld::WithCurve(_)) => is_level(one),
                            Some(Withheld::NotAsked) => lacks && one.primitive.is_group(),
                            Some(Withheld::Absent) => lacks && !one.primitive.is_group(),
                            Some(Withheld::Unknown) => !is_known && !lacks,
                            Some(Withheld::Slower { .. }) => false,
                        };
                        assert!(is_said, "{it}: {:?}", one.withheld);
                    }
                }
            }
        }
    }

    #[test]
    fn beside_an_openssl_without_providers_nothing_is_known() {
        let all = provided(Cpu::detect(), &Options::default(), "1.1.1w", None);
        let is_unknown =
            |one: &Provided| one.ratios.is_none() && one.withheld == Some(Withheld::Unknown);
        assert!(all.iter().all(is_unknown));
    }
}
