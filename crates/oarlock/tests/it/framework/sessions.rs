//! Sessions that move in mid-stream: keystream, chaining values and numbers continue.

use oarlock::device::{Fault, When};
use oarlock::framework::{Check, Framework, Place, Request, SessionSpec};
use oarlock::{Algorithm, Error};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{engine, faulty, references};
use crate::common::{accelerator, random_bytes};

/// Returns a framework with two boards, one of which fails one request in three.
fn framework() -> Framework {
    let framework = Framework::new(&accelerator());
    let bad = faulty(&[
        (Fault::Error, When::Rate(0.1)),
        (Fault::WrongResult, When::Rate(0.1)),
        (Fault::Half, When::Rate(0.1)),
    ]);
    framework.register(engine("bad", bad), Check::All).unwrap();
    framework
        .register(engine("good", super::quick()), Check::Sample(0))
        .unwrap();
    framework
}

fn some_place(random: &mut StdRng) -> Place {
    [
        Place::Auto,
        Place::Here,
        Place::Queue,
        Place::Together,
        Place::Device,
    ][random.random_range(0..5)]
}

#[test]
fn a_stream_goes_on_at_its_byte_wherever_its_pieces_are_done() {
    let mut random = StdRng::seed_from_u64(1);
    for (algorithm, iv_bytes) in [
        (Algorithm::Aes128Ctr, 16),
        (Algorithm::ChaCha20, 12),
        #[cfg(feature = "legacy")]
        (Algorithm::TripleDesCtr, 8),
    ] {
        let framework = framework();
        let key = random_bytes(&mut random, algorithm.key_bytes());
        // An IV whose low bits carry, if the cipher has a counter.
        let iv = vec![0xff; iv_bytes];
        let session = framework
            .session(&SessionSpec::cipher(algorithm, &key, &iv))
            .unwrap();
        let jobs: Vec<_> = (0..300)
            .map(|_| {
                let bytes = random.random_range(0..300);
                let request = Request::encrypt(vec![0; bytes]).at(some_place(&mut random));
                session.submit(request).unwrap()
            })
            .collect();
        let mut made = Vec::new();
        for job in jobs {
            let answer = job.wait().unwrap();
            assert_eq!(answer.outcome, Ok(()));
            made.extend(answer.buffers.into_output());
        }
        let mut expected = vec![0; made.len()];
        references::encrypt(algorithm, &key, &iv, &mut expected);
        assert!(made == expected, "{algorithm}");
    }
}

#[test]
fn a_chain_goes_on_from_its_last_block_wherever_that_is_made() {
    let mut random = StdRng::seed_from_u64(2);
    let framework = framework();
    let (key, iv) = ([3; 16], [4; 16]);
    let spec = SessionSpec::cipher(Algorithm::Aes128Cbc, &key, &iv);
    let (encrypting, decrypting) = (
        framework.session(&spec).unwrap(),
        framework.session(&spec).unwrap(),
    );
    let plain = random_bytes(&mut random, 16 * 3000);
    let mut expected = plain.clone();
    references::encrypt(Algorithm::Aes128Cbc, &key, &iv, &mut expected);
    let pieces = |random: &mut StdRng, data: &[u8]| {
        let mut pieces = Vec::new();
        let mut rest = data;
        while !rest.is_empty() {
            let bytes = 16 * random.random_range(0..40).min(rest.len() / 16);
            let (piece, after) = rest.split_at(bytes);
            pieces.push(piece.to_vec());
            rest = after;
        }
        pieces
    };
    let mut made = [Vec::new(), Vec::new()];
    for (at, data) in [&plain, &expected].into_iter().enumerate() {
        // All pieces are submitted before any is waited for.
        let jobs: Vec<_> = pieces(&mut random, data)
            .into_iter()
            .map(|piece| {
                let (session, request) = match at {
                    0 => (&encrypting, Request::encrypt(piece)),
                    _ => (&decrypting, Request::decrypt(piece)),
                };
                session.submit(request.at(some_place(&mut random))).unwrap()
            })
            .collect();
        for job in jobs {
            let answer = job.wait().unwrap();
            assert_eq!(answer.outcome, Ok(()));
            made[at].extend(answer.buffers.into_output());
        }
    }
    assert!(made[0] == expected);
    assert!(made[1] == plain);
}

#[test]
fn both_directions_of_one_chain_wait_for_each_other() {
    let framework = framework();
    let (key, iv) = ([3; 16], [4; 16]);
    let session = framework
        .session(&SessionSpec::cipher(Algorithm::Aes128Cbc, &key, &iv))
        .unwrap();
    let mut ciphertext = vec![1; 160];
    let mut jobs = Vec::new();
    for round in 0..20 {
        let request = match round % 2 {
            0 => Request::encrypt(vec![round; 160]),
            _ => Request::decrypt(ciphertext.clone()),
        };
        jobs.push(session.submit(request.at(Place::Queue)).unwrap());
    }
    let mut chain = iv.to_vec();
    for (round, job) in (0..).zip(jobs) {
        let answer = job.wait().unwrap();
        let made = answer.buffers.into_output();
        if round % 2 == 0 {
            let mut expected = vec![round; 160];
            references::encrypt(Algorithm::Aes128Cbc, &key, &chain, &mut expected);
            assert!(made == expected, "{round}");
            chain = made[144..].to_vec();
        } else {
            let mut again = made;
            references::encrypt(Algorithm::Aes128Cbc, &key, &chain, &mut again);
            assert!(again == ciphertext, "{round}");
            chain = ciphertext[144..].to_vec();
        }
    }
    ciphertext.clear();
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn numbers_of_messages_follow_their_submission() {
    let framework = framework();
    let (key, iv) = ([6; 32], [8; 12]);
    let spec = SessionSpec::aead(Algorithm::ChaCha20Poly1305, &key, &iv);
    let (sealing, opening) = (
        framework.session(&spec).unwrap(),
        framework.session(&spec).unwrap(),
    );
    let mut random = StdRng::seed_from_u64(3);
    let submit = |session: &oarlock::framework::FrameworkSession, request: Request, place| {
        session.submit(request.at(place)).unwrap()
    };
    let jobs: Vec<_> = (0..200_usize)
        .map(|number| {
            let request = Request::encrypt(vec![number as u8; 16 + number]);
            submit(&sealing, request, some_place(&mut random))
        })
        .collect();
    let jobs: Vec<_> = jobs
        .into_iter()
        .map(|job| {
            let answer = job.wait().unwrap();
            assert_eq!(answer.outcome, Ok(()));
            let request = Request::decrypt(answer.buffers);
            submit(&opening, request, some_place(&mut random))
        })
        .collect();
    for (number, job) in jobs.into_iter().enumerate() {
        let answer = job.wait().unwrap();
        assert_eq!(answer.outcome, Ok(()));
        assert_eq!(
            answer.buffers.into_output()[..number],
            vec![number as u8; number]
        );
    }
    assert_eq!(
        (sealing.next_number(), opening.next_number()),
        (Some(200), Some(200))
    );
    // A message that is one number behind.
    let late = submit(&sealing, Request::encrypt(vec![0; 16]), Place::Auto)
        .wait()
        .unwrap();
    drop(submit(&opening, Request::decrypt(vec![0; 16]), Place::Auto).wait());
    let answer = submit(&opening, Request::decrypt(late.buffers), Place::Auto)
        .wait()
        .unwrap();
    assert_eq!(answer.outcome, Err(Error::AuthenticationFailed));
}
