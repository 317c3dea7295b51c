//! `reservation=exclusive`: every opened object reserves `cipher_threads` threads once, from when it is opened until it is
//! dropped, whatever its algorithm, the number of its keys and how often they change.
//!
//! The objects, and every call that gives one a key:
//!
//! | object | opened by | keys that follow |
//! |---|---|---|
//! | AES-CTR, AES-CBC | `ctr`, `cbc` | `set_key` |
//! | any stream, a block cipher in counter mode | `stream`, `block_ctr` | none |
//! | AEAD, with nonces in a sequence | `aead`, `sequenced_aead` | none |
//! | ESP, each direction, each suite | `esp_outbound`, `esp_inbound` | another association |
//! | TLS, each direction, each suite | `tls_outbound`, `tls_inbound` | `update`, `set_keys` |
//! | DTLS, each direction, each suite | `dtls_outbound`, `dtls_inbound` | `update`, `add_epoch` |
//! | SRTP, each direction, each profile | `srtp_outbound`, `srtp_inbound` | `add_key`, `use_key`, `set_state` |
//! | contexts of each kind | `stream_context`, `cbc_context`, `aead_context` | `set_key` |
//!
//! Contexts reserve nothing before their first work, and continue without threads if none are left.

use oarlock::aead::NonceSequence;
use oarlock::packet::{esp, srtp, tls};
use oarlock::{Accelerator, Algorithm, Error, Kind, Reservation};
use oarlock_engine::aead::AeadContext;
use oarlock_engine::cipher::CbcContext;
use oarlock_engine::cipher::StreamContext;

/// An opened object: a call gives it another key, and dropping it releases its threads.
type Open = Box<dyn FnMut(u64) -> Result<(), Error>>;

/// Opens an object.
type Opener = Box<dyn Fn(&Accelerator) -> Result<Open, Error>>;

struct Object {
    name: String,
    open: Opener,
    /// Opens the same object with an invalid key, if there is one.
    fail: Option<Opener>,
}

impl Object {
    fn new(
        name: impl Into<String>,
        open: impl Fn(&Accelerator) -> Result<Open, Error> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            open: Box::new(open),
            fail: None,
        }
    }

    fn failing(mut self, fail: impl Fn(&Accelerator) -> Result<Open, Error> + 'static) -> Self {
        self.fail = Some(Box::new(fail));
        self
    }
}

const KEY: [u8; 128] = [7; 128];
const IV: [u8; 16] = [9; 16];

fn kept<T: 'static>(object: T) -> Open {
    Box::new(move |_| {
        let _ = &object;
        Ok(())
    })
}

fn objects() -> Vec<Object> {
    let mut all = vec![
        Object::new("ctr", |accelerator| {
            let mut cipher = accelerator.ctr(&KEY[..16], &IV)?;
            Ok(Box::new(move |round| {
                let bytes = [16, 24, 32][round as usize % 3];
                cipher.set_key(&KEY[..bytes], &IV)
            }))
        })
        .failing(|accelerator| accelerator.ctr(&KEY[..17], &IV).map(kept)),
        Object::new("cbc", |accelerator| {
            let mut cipher = accelerator.cbc(&KEY[..16], &IV)?;
            Ok(Box::new(move |round| {
                let bytes = [16, 24, 32][round as usize % 3];
                cipher.set_key(&KEY[..bytes], &IV)
            }))
        })
        .failing(|accelerator| accelerator.cbc(&KEY[..17], &IV).map(kept)),
        Object::new("block ctr", |accelerator| {
            let cipher = accelerator.block_ctr::<aes::Aes128>(&KEY[..16], &IV)?;
            Ok(kept(cipher))
        })
        .failing(|accelerator| {
            let cipher = accelerator.block_ctr::<aes::Aes128>(&KEY[..17], &IV)?;
            Ok(kept(cipher))
        }),
    ];
    all.extend(sessions());
    all.extend(associations());
    all.extend(connections());
    all.extend(datagrams());
    all.extend(sound());
    all
}

fn sessions() -> Vec<Object> {
    let built_in = Algorithm::ALL.iter().filter(|one| one.is_built_in());
    let of = |algorithm: Algorithm| {
        let key = &KEY[..algorithm.key_bytes()];
        match algorithm.kind() {
            Kind::Stream { iv_bytes, .. } => {
                let iv = &IV[..iv_bytes];
                vec![
                    Object::new(algorithm.to_string(), move |accelerator| {
                        accelerator.stream(algorithm, key, iv).map(kept)
                    })
                    .failing(move |accelerator| {
                        accelerator.stream(algorithm, &key[1..], iv).map(kept)
                    }),
                ]
            }
            Kind::Aead => {
                let nonces = NonceSequence::Xor { iv: [9; 12] };
                vec![
                    Object::new(algorithm.to_string(), move |accelerator| {
                        accelerator.aead(algorithm, key).map(kept)
                    })
                    .failing(move |accelerator| accelerator.aead(algorithm, &key[1..]).map(kept)),
                    Object::new(format!("{algorithm} in sequence"), move |accelerator| {
                        let opened = accelerator.sequenced_aead(algorithm, key, nonces, 1 << 14);
                        opened.map(kept)
                    })
                    .failing(move |accelerator| {
                        let key = &key[1..];
                        let opened = accelerator.sequenced_aead(algorithm, key, nonces, 1 << 14);
                        opened.map(kept)
                    }),
                ]
            }
            _ => vec![],
        }
    };
    built_in.flat_map(|&algorithm| of(algorithm)).collect()
}

fn associations() -> Vec<Object> {
    let of = |&suite: &esp::Suite| {
        let association = move |bytes| esp::Association::new(1, suite, &KEY[..bytes]);
        let bytes = suite.key_bytes();
        [
            Object::new(format!("esp out {suite:?}"), move |accelerator| {
                accelerator.esp_outbound(&association(bytes)).map(kept)
            })
            .failing(move |accelerator| {
                accelerator.esp_outbound(&association(bytes + 1)).map(kept)
            }),
            Object::new(format!("esp in {suite:?}"), move |accelerator| {
                accelerator.esp_inbound(&association(bytes)).map(kept)
            })
            .failing(move |accelerator| accelerator.esp_inbound(&association(bytes + 1)).map(kept)),
        ]
    };
    esp::Suite::ALL.iter().flat_map(of).collect()
}

/// Returns keys with their secret for even rounds, and keys without it for odd ones.
fn keys(suite: tls::Suite, round: u64) -> tls::Keys<'static> {
    match round % 2 {
        0 => tls::Keys::from_secret(suite, &KEY[..suite.secret_bytes()]),
        _ => tls::Keys::new(suite, &KEY[..suite.key_bytes()], &[9; 12]),
    }
}

fn wrong_keys(suite: tls::Suite) -> tls::Keys<'static> {
    tls::Keys::from_secret(suite, &KEY[..suite.secret_bytes() - 1])
}

fn connections() -> Vec<Object> {
    let of = |&suite: &tls::Suite| {
        [
            Object::new(format!("tls out {suite:?}"), move |accelerator| {
                let mut outbound = accelerator.tls_outbound(&keys(suite, 0))?;
                Ok(Box::new(move |round| {
                    outbound.set_keys(&keys(suite, round))?;
                    outbound.set_keys(&keys(suite, 0))?;
                    outbound.update()
                }))
            })
            .failing(move |accelerator| accelerator.tls_outbound(&wrong_keys(suite)).map(kept)),
            Object::new(format!("tls in {suite:?}"), move |accelerator| {
                let mut inbound = accelerator.tls_inbound(&keys(suite, 0))?;
                Ok(Box::new(move |round| {
                    inbound.set_keys(&keys(suite, round))?;
                    inbound.set_keys(&keys(suite, 0))?;
                    inbound.update()
                }))
            })
            .failing(move |accelerator| accelerator.tls_inbound(&wrong_keys(suite)).map(kept)),
        ]
    };
    tls::Suite::ALL.iter().flat_map(of).collect()
}

fn datagrams() -> Vec<Object> {
    let of = |&suite: &tls::Suite| {
        [
            Object::new(format!("dtls out {suite:?}"), move |accelerator| {
                let mut outbound = accelerator.dtls_outbound(3, &keys(suite, 0))?;
                Ok(Box::new(move |_| outbound.update()))
            })
            .failing(move |accelerator| accelerator.dtls_outbound(3, &wrong_keys(suite)).map(kept)),
            // With four epochs at once.
            Object::new(format!("dtls in {suite:?}"), move |accelerator| {
                let mut inbound = accelerator.dtls_inbound(1, &keys(suite, 0))?;
                Ok(Box::new(move |round| match round % 2 {
                    0 => inbound.update(),
                    _ => inbound.add_epoch(inbound.newest_epoch() + 1, &keys(suite, 0)),
                }))
            })
            .failing(move |accelerator| accelerator.dtls_inbound(3, &wrong_keys(suite)).map(kept)),
        ]
    };
    tls::Suite::ALL.iter().flat_map(of).collect()
}

fn sound() -> Vec<Object> {
    let of = |&suite: &srtp::Suite| {
        let bytes = suite.key_bytes();
        let named = move |mki| srtp::MasterKey {
            mki,
            key: &KEY[..bytes],
        };
        let added = move |round: u64| {
            static MKIS: [[u8; 1]; 8] = [[0], [1], [2], [3], [4], [5], [6], [7]];
            named(&MKIS[round as usize % MKIS.len()])
        };
        [
            Object::new(format!("srtp out {suite:?}"), move |accelerator| {
                let first = [named(b"a"), named(b"b"), named(b"c")];
                let policy = srtp::Policy::with_keys(suite, &first);
                let mut outbound = accelerator.srtp_outbound(&policy)?;
                Ok(Box::new(move |round| {
                    outbound.add_key(added(round))?;
                    outbound.use_key(added(round).mki)?;
                    outbound.set_state(&outbound.state())
                }))
            })
            .failing(move |accelerator| {
                let policy = srtp::Policy::new(suite, &KEY[..bytes + 1]);
                accelerator.srtp_outbound(&policy).map(kept)
            }),
            Object::new(format!("srtp in {suite:?}"), move |accelerator| {
                let first = [named(b"a"), named(b"b"), named(b"c")];
                let policy = srtp::Policy::with_keys(suite, &first);
                let mut inbound = accelerator.srtp_inbound(&policy)?;
                Ok(Box::new(move |round| {
                    inbound.add_key(added(round))?;
                    inbound.set_state(&inbound.state())
                }))
            })
            .failing(move |accelerator| {
                let policy = srtp::Policy::new(suite, &KEY[..bytes + 1]);
                accelerator.srtp_inbound(&policy).map(kept)
            }),
            Object::new(format!("srtp without MKI {suite:?}"), move |accelerator| {
                let policy = srtp::Policy::new(suite, &KEY[..bytes]);
                accelerator.srtp_outbound(&policy).map(kept)
            }),
        ]
    };
    srtp::Suite::ALL.iter().flat_map(of).collect()
}

fn exclusive(max: usize, each: usize) -> Accelerator {
    let builder = Accelerator::builder().max_threads(max).cipher_threads(each);
    let builder = builder.reservation(Reservation::Exclusive);
    builder.build().unwrap()
}

/// Returns how many threads are not reserved, at most 4095.
fn free(accelerator: &Accelerator) -> usize {
    let before = accelerator.options();
    let mut options = before;
    options.set("cipher_threads", "4096").unwrap();
    accelerator.set_options(options).unwrap();
    let refused = accelerator.ctr(&KEY[..16], &IV).err();
    accelerator.set_options(before).unwrap();
    match refused {
        Some(Error::NoThreadsFree { wanted: 4096, free }) => free,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_object_keeps_its_threads_once_whatever_becomes_of_its_keys() {
    let all = objects();
    assert!(all.len() > 60, "{}", all.len());
    for Object { name, open, fail } in &all {
        for (max, each) in [
            (2, 2),
            (4, 2),
            (5, 2),
            (1, 1),
            (3, 1),
            (7, 3),
            (0, 0),
            (3, 0),
        ] {
            let it = format!("{name}: max_threads={max}, cipher_threads={each}");
            let accelerator = exclusive(max, each);
            let count = max.checked_div(each).unwrap_or(3);
            let mut opened = Vec::new();
            for number in 1..=count {
                opened.push(open(&accelerator).unwrap_or_else(|error| panic!("{it}: {error}")));
                assert_eq!(free(&accelerator), max - number * each, "{it}");
            }
            let left = max - count * each;
            if each > 0 {
                let expected = Error::NoThreadsFree {
                    wanted: each,
                    free: left,
                };
                assert_eq!(open(&accelerator).err(), Some(expected), "{it}");
            }
            // Keys change while no thread is left.
            for round in 0..6 {
                for object in &mut opened {
                    object(round).unwrap_or_else(|error| panic!("{it}: {error}"));
                }
                assert_eq!(free(&accelerator), left, "{it}: after {round} changes");
            }
            // A dropped object releases its threads, which suffice for one more like it.
            while opened.pop().is_some() {
                assert_eq!(free(&accelerator), max - opened.len() * each, "{it}");
                assert!(open(&accelerator).is_ok(), "{it}");
                assert_eq!(free(&accelerator), max - opened.len() * each, "{it}");
            }
            // An object that could not be opened reserves nothing.
            if let Some(fail) = fail {
                assert!(
                    matches!(fail(&accelerator), Err(Error::InvalidKey(_))),
                    "{it}"
                );
                assert_eq!(free(&accelerator), max, "{it}");
            }
        }
    }
}

#[test]
fn an_object_that_wants_more_than_there_is_is_refused() {
    for Object { name, open, .. } in objects() {
        let refused = open(&exclusive(3, 4)).err();
        let expected = Error::NoThreadsFree { wanted: 4, free: 3 };
        assert_eq!(refused, Some(expected), "{name}");
    }
}

#[test]
fn objects_of_all_kinds_share_what_there_is() {
    let all = objects();
    let accelerator = exclusive(all.len() * 2, 2);
    let mut opened: Vec<_> = all
        .iter()
        .map(|it| (it.open)(&accelerator).unwrap())
        .collect();
    assert_eq!(free(&accelerator), 0);
    for round in 0..6 {
        for (object, Object { name, .. }) in opened.iter_mut().zip(&all) {
            object(round).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
    assert_eq!(free(&accelerator), 0);
    // An object keeps the threads it has when new options would give more to each.
    let mut options = accelerator.options();
    options.set("cipher_threads", "9").unwrap();
    accelerator.set_options(options).unwrap();
    for (object, Object { name, .. }) in opened.iter_mut().zip(&all) {
        object(6).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    drop(opened);
    assert_eq!(free(&accelerator), all.len() * 2);
}

#[test]
fn where_threads_are_shared_nothing_is_refused() {
    let builder = Accelerator::builder().max_threads(2).cipher_threads(2);
    let accelerator = builder.build().unwrap();
    for Object { name, open, .. } in objects() {
        let all: Result<Vec<_>, _> = (0..4).map(|_| open(&accelerator)).collect();
        for object in &mut all.unwrap_or_else(|error| panic!("{name}: {error}")) {
            object(0).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn contexts_keep_their_threads_once_and_go_on_without() {
    let accelerator = exclusive(4, 2);
    // Enough data that each opens a session of its own, if it can.
    let mut data = vec![0; 4 << 20];
    let mut stream =
        StreamContext::new(accelerator.as_ref(), Algorithm::Aes128Ctr, &KEY[..16]).unwrap();
    let mut cbc = CbcContext::new(accelerator.as_ref(), Algorithm::Aes128Cbc, &KEY[..16]).unwrap();
    let mut aead =
        AeadContext::new(accelerator.as_ref(), Algorithm::Aes128Gcm, &KEY[..16]).unwrap();
    assert_eq!(free(&accelerator), 4);
    for _ in 0..3 {
        let before = data.clone();
        stream.set_key(&KEY[..16]).unwrap();
        cbc.set_key(&KEY[..16]).unwrap();
        aead.set_key(&KEY[..16]).unwrap();
        assert_eq!(
            free(&accelerator),
            4,
            "a new key gives back what the old one kept"
        );
        stream.apply(data.as_mut_slice().into());
        assert_eq!(free(&accelerator), 2);
        aead.seal(&[1; 12], &[], data.as_mut_slice().into())
            .unwrap();
        assert_eq!(free(&accelerator), 0);
        // No threads are left for this one.
        cbc.set_iv(IV);
        cbc.decrypt(data.as_mut_slice().into()).unwrap();
        assert_eq!(free(&accelerator), 0);
        assert!(data != before);
    }
    drop((stream, cbc, aead));
    assert_eq!(free(&accelerator), 4);
}
