//! The default provider and ours, call by call: random sequences must look the same.
#![allow(clippy::unwrap_used)]

mod driver;

use std::collections::BTreeMap;

use driver::script::{Algorithm, Difference, End};
use driver::{NAMES, libcrypto, noise};

#[test]
fn descriptions_are_the_default_providers() {
    for name in NAMES {
        let [default, ours] =
            ["default", "oarlock"].map(|provider| libcrypto().fetch(name, provider));
        assert_eq!(ours.description(), default.description(), "{name}");
        assert_eq!(ours.names(), default.names(), "{name}");
        let mut listed = ours.listed();
        if name == "ChaCha20" {
            // Newer ones give it; docs/provider.md, "Differences".
            listed[1].retain(|(key, _)| key != "updated-iv");
        }
        assert_eq!(listed, default.listed(), "{name}");
    }
}

#[test]
fn random_sequences_look_the_same() {
    let rounds: u64 = match std::env::var("OARLOCK_DIFFERENTIAL_ROUNDS") {
        Ok(rounds) => rounds.parse().unwrap(),
        Err(_) => 1500,
    };
    let mut differences: BTreeMap<String, (usize, Difference)> = BTreeMap::new();
    let mut calls = 0;
    for name in NAMES {
        let algorithm = Algorithm::new(name);
        for round in 0..rounds {
            let script = noise(round, 4 + (round as usize * 7) % 160);
            match algorithm.run(&script) {
                Ok(End::Done(made) | End::Excused(made, _)) => calls += made,
                Err(difference) => {
                    let last = difference.calls.last().unwrap();
                    let kind = format!(
                        "{name} {last:?} {} {} {:?} {:?}",
                        difference.expected.done,
                        difference.found.done,
                        difference.expected.errors,
                        difference.found.errors
                    );
                    let kind: String = kind.chars().filter(|c| !c.is_ascii_digit()).collect();
                    let entry = differences.entry(kind);
                    let entry = entry.or_insert_with(|| (0, *difference));
                    entry.0 += 1;
                }
            }
        }
    }
    println!("{calls} calls");
    for (count, difference) in differences.values() {
        println!("{count} times, {difference}");
    }
    assert!(
        differences.is_empty(),
        "{} kinds of differences",
        differences.len()
    );
    assert!(calls > 10_000, "{calls}");
}
