//! Every fault with every kind of request, and a device that leaves while it has one of each.

use std::time::Duration;

use oarlock::device::{EngineBoard, Fault, PublicKeyRequest, When};
use oarlock::framework::{Answer, Check, Framework, FrameworkSession, Place, Request, SessionSpec};
use oarlock::job::Job;
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
use oarlock::{Algorithm, Direction};
use rand::{SeedableRng, rngs::StdRng};

use super::{SERVICES, Sample, faulty, quick, references, with_board};
use crate::common::accelerator;
use crate::common::keys::RSA1024;

const FAULTS: [Fault; 10] = [
    Fault::WrongResult,
    Fault::NoAnswer,
    Fault::Hang,
    Fault::Error,
    Fault::TwoAnswers,
    Fault::Late(Duration::from_millis(1)),
    Fault::Death,
    Fault::Reset(Duration::from_micros(100)),
    Fault::Overrun,
    Fault::Half,
];

/// Requests of all kinds, each with its expected result.
struct Kinds {
    samples: Vec<Sample>,
    key: RsaPrivateKey,
    signature: Vec<u8>,
}

impl Kinds {
    fn new() -> Self {
        let mut random = StdRng::seed_from_u64(21);
        let key = RsaPrivateKey::from_pem(RSA1024).unwrap();
        Self {
            samples: SERVICES
                .iter()
                .map(|service| Sample::new(*service, &mut random))
                .collect(),
            signature: accelerator().rsa(&key).sign(SCHEME, b"message").unwrap(),
            key,
        }
    }

    fn data(&self, framework: &Framework) -> Vec<(&Sample, Direction, FrameworkSession)> {
        let directions = [Direction::Encrypt, Direction::Decrypt];
        let samples = self.samples.iter();
        samples
            .flat_map(|sample| {
                directions.map(|direction| {
                    let session = framework.session(&sample.spec()).unwrap();
                    (sample, direction, session)
                })
            })
            .collect()
    }

    fn sign(&self, framework: &Framework) -> Job<Answer> {
        let request = PublicKeyRequest::sign(&self.key, SCHEME, b"message").unwrap();
        framework.submit_public_key(request, Place::Device).unwrap()
    }
}

const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);

fn submit(sample: &Sample, direction: Direction, session: &FrameworkSession) -> Job<Answer> {
    let (given, _) = sample.sides(direction);
    let request = sample.request(direction, given.to_vec().into());
    session.submit(request.at(Place::Device)).unwrap()
}

#[track_caller]
fn assert_right(answer: Answer, sample: &Sample, direction: Direction, said: &str) {
    assert_eq!(answer.outcome, Ok(()), "{said} {}", sample.service);
    let (_, expected) = sample.sides(direction);
    let made = answer.buffers.into_output();
    assert!(made == expected, "{said} {} {direction:?}", sample.service);
}

#[test]
fn every_fault_in_every_kind_of_request_leaves_one_right_answer() {
    let kinds = Kinds::new();
    for fault in FAULTS {
        let said = format!("{fault:?}");
        let ends_well = matches!(fault, Fault::TwoAnswers | Fault::Late(_));
        let board = || {
            let board = EngineBoard {
                public_key: Some(Duration::ZERO),
                ..faulty(&[(fault, When::Every(1))])
            };
            with_board(board, Check::All)
        };
        let is_seen = |framework: &Framework| {
            let counts = framework.health()["board"].counts;
            let faults = counts.failed + counts.breaches + counts.stalled;
            (counts.done > 0, faults > 0)
        };
        let (sessions_of, _board) = board();
        for (sample, direction, _) in kinds.data(&sessions_of) {
            // A board without known faults.
            let (framework, device) = board();
            let session = framework.session(&sample.spec()).unwrap();
            let answer = submit(sample, direction, &session).wait().unwrap();
            let is_boards = &*answer.device == "board";
            assert_right(answer, sample, direction, &said);
            assert_eq!(framework.in_flight(), 0);
            if device.admitted() > 0 {
                let (is_done, is_faulty) = is_seen(&framework);
                // A wrong tag is a fault, and so is a wrong text; an empty result cannot be wrong.
                let has_text = sample.layout.encrypted.len() + sample.tag_bytes > 0;
                assert_eq!(is_done, is_boards, "{said} {}", sample.service);
                assert!(
                    is_faulty != ends_well || !has_text,
                    "{said} {} {direction:?}",
                    sample.service
                );
            }
            device.release();
        }
        let (framework, device) = board();
        let answer = kinds.sign(&framework).wait().unwrap();
        assert_eq!(answer.outcome, Ok(()), "{said}");
        assert!(*answer.power == kinds.signature, "{said}");
        assert_eq!(device.admitted(), 1, "{said}");
        assert_eq!(framework.in_flight(), 0);
        device.release();
    }
}

#[test]
fn a_device_that_leaves_hands_on_one_of_each_kind() {
    let kinds = Kinds::new();
    let slow = EngineBoard {
        latency: Duration::from_secs(3600),
        ..quick()
    };
    let (framework, board) = with_board(slow, Check::Sample(0));
    let data = kinds.data(&framework);
    let jobs: Vec<_> = data
        .iter()
        .map(|(sample, direction, session)| submit(sample, *direction, session))
        .collect();
    let signature = kinds.sign(&framework);
    // A chain: one link is queued, and the others wait for it.
    let chain = framework
        .session(&SessionSpec::cipher(
            Algorithm::Aes128Cbc,
            &[3; 16],
            &[4; 16],
        ))
        .unwrap();
    let links: Vec<_> = (0..5_u8)
        .map(|number| {
            let request = Request::encrypt(vec![number; 160]).at(Place::Device);
            chain.submit(request).unwrap()
        })
        .collect();
    // All requests but those for the CPU only.
    assert!(board.admitted() > 30, "{}", board.admitted());
    assert!(framework.withdraw("board"));
    for (job, (sample, direction, _)) in jobs.into_iter().zip(&data) {
        assert_right(job.wait().unwrap(), sample, *direction, "after it left");
    }
    assert!(*signature.wait().unwrap().power == kinds.signature);
    let mut made = Vec::new();
    for link in links {
        made.extend(link.wait().unwrap().buffers.into_output());
    }
    let mut expected: Vec<u8> = (0..5_u8).flat_map(|number| [number; 160]).collect();
    references::encrypt(Algorithm::Aes128Cbc, &[3; 16], &[4; 16], &mut expected);
    assert!(made == expected);
    board.kill();
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn the_same_request_many_times_in_one_batch_is_answered_as_often() {
    let kinds = Kinds::new();
    let (framework, _board) = with_board(quick(), Check::Sample(0));
    let data = kinds.data(&framework);
    let batch = || data.iter().flat_map(|one| [one, one, one]);
    let requests = batch().map(|(sample, direction, session)| {
        let (given, _) = sample.sides(*direction);
        (session, sample.request(*direction, given.to_vec().into()))
    });
    let answers = framework.run_all(requests.collect());
    assert_eq!(answers.len(), 3 * data.len());
    for (answer, (sample, direction, _)) in answers.into_iter().zip(batch()) {
        assert_right(answer, sample, *direction, "three times");
    }
}
