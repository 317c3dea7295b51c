//! Every service, in every kind of buffer and on every kind of device, agrees with other implementations.

use oarlock::framework::{
    Buffers, Check, Framework, HashAlgorithm, Iv, Layout, Place, Request, Service, SessionSpec,
};
use oarlock::{Algorithm, Direction, Error};
use oarlock_testing::until;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{SERVICES, Sample, quick, with_board};
use crate::common::accelerator;

/// Returns buffers of one piece, of random pieces in place, or of random pieces with others for the output.
fn buffers(data: &[u8], random: &mut StdRng) -> Buffers {
    let pieces = |random: &mut StdRng, data: &[u8]| {
        let mut pieces = Vec::new();
        let mut rest = data;
        for _ in 0..random.random_range(0..5) {
            let (piece, after) = rest.split_at(random.random_range(0..=rest.len()));
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces.push(rest.to_vec());
        pieces
    };
    match random.random_range(0..3) {
        0 => data.to_vec().into(),
        1 => Buffers::scattered(pieces(random, data)),
        _ => Buffers::separate(
            pieces(random, data),
            pieces(random, &vec![0xee; data.len()]),
        ),
    }
}

/// Queueing the request and waking a thread for it would take longer.
#[test]
fn of_a_batch_what_is_short_and_gains_nothing_in_a_group_is_done_at_once() {
    let framework = Framework::new(&accelerator());
    let spec = SessionSpec::cipher(Algorithm::ChaCha20, &[1; 32], &[2; 12]);
    let session = framework.session(&spec).unwrap();
    let request = Request::encrypt(vec![0; 64]).at(Place::Together);
    let job = session.submit(request).unwrap();
    assert!(job.is_finished());
    job.wait().unwrap().outcome.unwrap();
}

#[test]
fn every_service_is_that_of_others_wherever_it_is_done() {
    let mut random = StdRng::seed_from_u64(1);
    let (framework, board) = with_board(quick(), Check::Sample(0));
    for service in SERVICES {
        for round in 0..40 {
            let sample = Sample::new(service, &mut random);
            let session = framework.session(&sample.spec()).unwrap();
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let (given, expected) = sample.sides(direction);
                for place in [
                    Place::Here,
                    Place::Queue,
                    Place::Together,
                    Place::Device,
                    Place::Auto,
                ] {
                    let buffers = buffers(given, &mut random);
                    let request = sample.request(direction, buffers).at(place);
                    let answer = session.submit(request).unwrap().wait().unwrap();
                    assert_eq!(
                        answer.outcome,
                        Ok(()),
                        "{service} {round} {direction:?} {place:?}"
                    );
                    let is_right = answer.buffers.output().collect::<Vec<_>>().concat() == expected;
                    assert!(is_right, "{service} {round} {direction:?} {place:?}");
                }
            }
        }
    }
    // One request in five is for the board, except those that encrypt their tag.
    assert!(board.admitted() > 1000, "{}", board.admitted());
    // The last answer may arrive before it is counted.
    until("all are counted", || {
        framework.health()["board"].counts.done == board.admitted()
    });
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn a_forgery_is_refused_and_its_data_are_as_they_were() {
    let mut random = StdRng::seed_from_u64(2);
    let (framework, board) = with_board(quick(), Check::Sample(0));
    for service in SERVICES {
        if matches!(service, Service::Cipher(_)) {
            continue;
        }
        for _ in 0..20 {
            let sample = Sample::new(service, &mut random);
            let session = framework.session(&sample.spec()).unwrap();
            let mut forged = sample.sealed.clone();
            let at = sample.layout.tag + random.random_range(0..sample.tag_bytes);
            forged[at] ^= 1 << random.random_range(0..8);
            for place in [Place::Here, Place::Queue, Place::Together, Place::Device] {
                let buffers = buffers(&forged, &mut random);
                let before = buffers.clone();
                let request = sample.request(Direction::Decrypt, buffers).at(place);
                let answer = session.submit(request).unwrap().wait().unwrap();
                assert_eq!(
                    answer.outcome,
                    Err(Error::AuthenticationFailed),
                    "{service}"
                );
                assert_eq!(answer.buffers, before, "{service} {place:?}");
            }
        }
    }
    // A forgery that the device reports is no fault of the device.
    let health = framework.health()["board"];
    assert_eq!(health.counts.done, board.admitted());
    assert_eq!(health.counts.breaches + health.counts.failed, 0);
}

#[test]
fn many_at_once_are_answered_by_request_also_more_than_may_be_in_flight() {
    let mut random = StdRng::seed_from_u64(3);
    let framework = Framework::with_in_flight_max(&accelerator(), 50);
    let samples: Vec<_> = (0..400)
        .map(|_| {
            Sample::new(
                SERVICES[random.random_range(0..SERVICES.len())],
                &mut random,
            )
        })
        .collect();
    let sessions: Vec<_> = samples
        .iter()
        .map(|sample| framework.session(&sample.spec()).unwrap())
        .collect();
    for direction in [Direction::Encrypt, Direction::Decrypt] {
        let batch = samples.iter().zip(&sessions);
        let batch = batch.map(|(sample, session)| {
            let (given, _) = sample.sides(direction);
            (
                session,
                sample.request(direction, buffers(given, &mut random)),
            )
        });
        let answers = framework.run_all(batch.collect());
        for (sample, answer) in samples.iter().zip(answers) {
            assert_eq!(answer.outcome, Ok(()));
            let (_, expected) = sample.sides(direction);
            assert!(answer.buffers.into_output()[..] == *expected);
        }
    }
}

#[test]
fn borrowed_data_are_done_in_place_when_the_call_returns() {
    let mut random = StdRng::seed_from_u64(4);
    let alone = Framework::new(&accelerator());
    let (with_board, _board) = with_board(quick(), Check::Sample(0));
    for service in SERVICES {
        for framework in [&alone, &with_board] {
            let sample = Sample::new(service, &mut random);
            let session = framework.session(&sample.spec()).unwrap();
            let mut data = sample.plain.clone();
            let layout = || sample.layout.clone();
            session
                .run(Direction::Encrypt, Iv::Next, layout(), &mut data)
                .unwrap();
            assert!(data == sample.sealed, "{service}");
            let iv = match service.cipher() {
                Some(_) => Iv::Explicit(oarlock::framework::IvBytes::new(&sample.iv).unwrap()),
                None => Iv::Next,
            };
            session
                .run(Direction::Decrypt, iv, layout(), &mut data)
                .unwrap();
            assert!(data == sample.opened, "{service}");
        }
    }
    let counts: u64 = alone.stats().values().map(|counts| counts.requests).sum();
    assert_eq!(counts, 2 * SERVICES.len() as u64);
}

#[test]
fn md5_is_there_in_hmac_alone() {
    // RFC 2202, 2, the second case.
    let framework = Framework::new(&accelerator());
    let session = framework
        .session(&SessionSpec::hmac(HashAlgorithm::Md5, b"Jefe", 16))
        .unwrap();
    let message = [&b"what do ya want for nothing?"[..], &[0; 16]].concat();
    for place in [Place::Here, Place::Queue] {
        let request = Request::encrypt(message.clone()).at(place);
        let answer = session.submit(request).unwrap().wait().unwrap();
        let tag = answer.buffers.into_output().split_off(28);
        assert_eq!(
            u128::from_be_bytes(tag.try_into().unwrap()),
            0x750c_783e_6ab0_b503_eaa8_6e31_0a5d_b738
        );
    }
    let error = framework
        .session(&SessionSpec::digest(HashAlgorithm::Md5))
        .unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)));
}

#[test]
fn random_bytes_are_no_devices_alone() {
    let (framework, board) = with_board(quick(), Check::Sample(0));
    let session = framework.session(&SessionSpec::random()).unwrap();
    let mut seen = std::collections::HashSet::new();
    for place in [Place::Here, Place::Queue, Place::Device] {
        for _ in 0..10 {
            let request = Request::encrypt(vec![0; 100]).with_layout(Layout {
                encrypted: 10..90,
                ..Layout::default()
            });
            let answer = session.submit(request.at(place)).unwrap().wait().unwrap();
            let data = answer.buffers.into_output();
            assert_eq!((&data[..10], &data[90..]), (&[0; 10][..], &[0; 10][..]));
            assert!(seen.insert(data[10..26].to_vec()));
        }
    }
    assert_eq!(board.admitted(), 10);
}

#[test]
fn what_does_not_fit_is_said_and_comes_back() {
    let framework = Framework::new(&accelerator());
    let key = [1; 16];
    let cbc = framework
        .session(&SessionSpec::cipher(
            oarlock::Algorithm::Aes128Cbc,
            &key,
            &[0; 16],
        ))
        .unwrap();
    let gcm = framework
        .session(&SessionSpec::aead(
            oarlock::Algorithm::Aes128Gcm,
            &key,
            &[0; 12],
        ))
        .unwrap();
    let mte = framework
        .session(&SessionSpec::chained(
            oarlock::framework::ChainOrder::MacThenEncrypt,
            (oarlock::Algorithm::Aes128Cbc, &key, &[0; 16]),
            (HashAlgorithm::Sha1, b"key", 20),
        ))
        .unwrap();
    let layout = |authenticated: [usize; 2], encrypted: [usize; 2], tag| Layout {
        authenticated: authenticated[0]..authenticated[1],
        encrypted: encrypted[0]..encrypted[1],
        tag,
    };
    for (session, layout, expected) in [
        (&cbc, layout([0, 0], [0, 17], 0), "whole blocks"),
        (&cbc, layout([0, 0], [0, 128], 0), "not within 100 bytes"),
        (&cbc, layout([0, 0], [32, 16], 0), "not within"),
        (&gcm, layout([0, 10], [5, 50], 60), "overlap"),
        (&gcm, layout([0, 10], [10, 50], 45), "overlap"),
        (&gcm, layout([0, 10], [10, 50], 85), "not within"),
        (&gcm, layout([0, 10], [10, 50], usize::MAX), "not within"),
        (&mte, layout([0, 10], [16, 64], 50), "overlap"),
    ] {
        let given = vec![7; 100];
        let request = Request::encrypt(given.clone()).with_layout(layout);
        let answer = session.submit(request).unwrap().wait().unwrap();
        let Err(Error::InvalidInput(said)) = answer.outcome else {
            panic!("{expected}: {:?}", answer.outcome);
        };
        assert!(said.contains(expected), "{said}");
        assert_eq!(answer.buffers.into_output(), given);
    }
    let uneven = Buffers::separate(vec![vec![0; 16]], vec![vec![0; 15]]);
    let answer = cbc
        .submit(Request::encrypt(uneven))
        .unwrap()
        .wait()
        .unwrap();
    assert!(matches!(answer.outcome, Err(Error::InvalidInput(_))));
    for (spec, is_key) in [
        (
            SessionSpec::cipher(oarlock::Algorithm::Aes128Ctr, &[0; 15], &[0; 16]),
            true,
        ),
        (
            SessionSpec::cipher(oarlock::Algorithm::Aes128Ctr, &key, &[0; 12]),
            false,
        ),
        (
            SessionSpec::cipher(oarlock::Algorithm::Aes128Gcm, &key, &[0; 12]),
            false,
        ),
        (
            SessionSpec::aead(oarlock::Algorithm::Aes128Gcm, &key, &[0; 16]),
            false,
        ),
        (
            SessionSpec::aead(oarlock::Algorithm::Aes128Ctr, &key, &[0; 12]),
            false,
        ),
        (SessionSpec::hmac(HashAlgorithm::Sha1, &key, 21), false),
        (SessionSpec::hmac(HashAlgorithm::Sha1, &key, 0), false),
    ] {
        let error = framework.session(&spec).unwrap_err();
        assert_eq!(matches!(error, Error::InvalidKey(_)), is_key, "{error}");
    }
    // Empty ranges fit anywhere.
    let anywhere = layout([9000, 9000], [64, 64], usize::MAX);
    for place in [Place::Here, Place::Queue] {
        let request = Request::encrypt(vec![7; 100]).with_layout(anywhere.clone());
        let answer = cbc.submit(request.at(place)).unwrap().wait().unwrap();
        assert_eq!(
            (answer.outcome, answer.buffers.into_output()),
            (Ok(()), vec![7; 100])
        );
    }
    assert_eq!(framework.in_flight(), 0);
}
