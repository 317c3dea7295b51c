//! The operations of a handshake one by one, called as libssl does.

use std::time::{Duration, Instant};

use oarlock_measure::Error;
use oarlock_measure::peers::openssl::{Agreement, Operation, Operations, SigningKey};
use oarlock_measure::run::provided::Provided;

use super::compared::{Compared, Quantity, STOCK, in_turn};
use super::device::ALLOWED;
use super::setup::Setup;
use crate::peers::aws_lc::{Direct, direct};

/// Measures nanoseconds of an operation, in a library context that has loaded the configuration, in one that has not, and by
/// aws-lc if it has the operation.
pub(super) fn measure(setup: &Setup, operation: Operation) -> Result<Vec<Compared>, Error> {
    let configuration = setup.post_quantum_configuration()?;
    let provided = Provided::open(&configuration)?;
    let (ours, theirs) = provided.operations(operation)?;
    let mut sides: Vec<(&'static str, Direct)> = vec![("oarlock", running(ours))];
    sides.extend(theirs.map(|theirs| (STOCK, running(theirs))));
    sides.extend(direct(operation).map(|direct| (AWS_LC, direct)));
    let calls = calls(&mut sides[0].1)?;
    let samples = in_turn(setup.rounds(101, 31), sides.len(), |side| {
        let took = timed(&mut sides[side].1, calls)?;
        Ok(took.as_nanos() as f64 / calls as f64)
    })?;
    let figure = match operation {
        Operation::ReadPublic(_) => Quantity::ReadNs,
        _ => Quantity::Nanoseconds,
    };
    let of = |vs, theirs| Compared::new(figure, vs, samples[0].clone(), theirs);
    let others = sides.iter().zip(&samples).skip(1);
    let mut compared: Vec<_> = others.map(|((vs, _), ns)| of(*vs, ns.clone())).collect();
    if operation == Operation::KeySchedule {
        compared.push(of(ALLOWED, vec![SCHEDULE_NS_ALLOWED; samples[0].len()]));
    }
    Ok(compared)
}

fn running(mut operations: Operations) -> Direct {
    Box::new(move || operations.run())
}

/// Returns the number of calls that take about 1 ms.
fn calls(work: &mut Direct) -> Result<u32, Error> {
    timed(work, 20)?;
    let one = timed(work, 20)? / 20;
    let calls = SAMPLE.as_nanos() / one.as_nanos().max(1);
    Ok(calls.clamp(1, 10_000) as u32)
}

fn timed(work: &mut Direct, calls: u32) -> Result<Duration, Error> {
    let began = Instant::now();
    for _ in 0..calls {
        if !work() {
            return Err(Error::Failed("an operation failed".to_owned()));
        }
    }
    Ok(began.elapsed())
}

/// Returns the operations by name, after `evp-`.
pub(super) fn cases() -> Vec<(String, Operation)> {
    let named = |name: &str, operation| (name.to_owned(), operation);
    let mut cases = vec![
        named("tls13-label", Operation::Label),
        named("tls13-schedule", Operation::KeySchedule),
        named("hkdf", Operation::Hkdf { is_kept: false }),
        named("hkdf-again", Operation::Hkdf { is_kept: true }),
        named("hmac-64", Operation::Hmac { is_kept: false }),
        named("hmac-64-same-key", Operation::Hmac { is_kept: true }),
        named("binder", Operation::Binder),
    ];
    for agreement in [
        Agreement::X25519,
        Agreement::P256,
        Agreement::MlKem768,
        Agreement::X25519MlKem768,
    ] {
        let named = |what: &str, operation| (format!("{agreement}-{what}"), operation);
        cases.push(named("generate", Operation::Generate(agreement)));
        cases.push(named("generate-again", Operation::GenerateAgain(agreement)));
        cases.extend(match agreement {
            Agreement::X25519 | Agreement::P256 => vec![
                named("share", Operation::Share(agreement)),
                named("derive", Operation::Derive(agreement)),
                named("derive-again", Operation::DeriveAgain(agreement)),
            ],
            Agreement::MlKem768 | Agreement::X25519MlKem768 => vec![
                named("encapsulate", Operation::Encapsulate(agreement)),
                named("decapsulate", Operation::Decapsulate(agreement)),
            ],
        });
    }
    for kind in [SigningKey::P256, SigningKey::P384, SigningKey::Ed25519] {
        cases.push((format!("sign-{kind}"), Operation::Sign(kind)));
        cases.push((format!("verify-{kind}"), Operation::Verify(kind)));
    }
    let kind = SigningKey::P256;
    cases.push(named("sign-p256-again", Operation::SignAgain(kind)));
    cases.push(named("verify-p256-again", Operation::VerifyAgain(kind)));
    for kind in [SigningKey::P256, SigningKey::P384, SigningKey::Rsa2048] {
        cases.push((format!("read-{kind}"), Operation::ReadPublic(kind)));
    }
    cases
}

/// aws-lc, called without EVP.
pub(crate) const AWS_LC: &str = "aws-lc";

const SAMPLE: Duration = Duration::from_millis(1);
/// The time allowed for one end's whole key schedule.
const SCHEDULE_NS_ALLOWED: f64 = 15_000.0;
