//! RFC 8448, section 3: the records of a connection, and what its keys are derived from.

use oarlock::packet::tls::{ContentType, Inbound, Keys, Suite};

use super::{DATA, opened_one, pair, reference, sealed};
use crate::common::accelerator;

const SUITE: Suite = Suite::Aes128GcmSha256;

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text.replace([' ', '\n'], "")).unwrap()
}

const CLIENT_SECRET: &str = "9e40646ce79a7f9dc05af8889bce6552875afa0b06df0087f792ebb7c17504a5";
const SERVER_SECRET: &str = "a11af9f05531f856ad47116b45a950328204b4f44bfb6b3a4b4f1f3fcb631643";

#[test]
fn keys_and_ivs_are_those_of_rfc_8448() {
    for (secret, key, iv) in [
        (
            CLIENT_SECRET,
            "17422dda596ed5d9acd890e3c63f5051",
            "5b78923dee08579033e523d9",
        ),
        (
            SERVER_SECRET,
            "9f02283b6c9c07efc26bb9f2ac92e356",
            "cf782b88dd83549aadf1e984",
        ),
    ] {
        let (secret, key, iv) = (bytes(secret), bytes(key), bytes(iv));
        let of_secret = reference::key_and_iv(SUITE, "tls13 ", &secret);
        assert_eq!(of_secret, (key.clone(), iv.clone().try_into().unwrap()));
        // A record under one is a record under the other.
        let (mut outbound, _) = pair(&accelerator(), &Keys::from_secret(SUITE, &secret));
        let iv = iv.try_into().unwrap();
        let (_, mut inbound) = pair(&accelerator(), &Keys::new(SUITE, &key, &iv));
        let record = sealed(&mut outbound, b"the same", DATA);
        let content = opened_one(&mut inbound, &record).unwrap();
        assert_eq!(content, (b"the same".to_vec(), DATA));
    }
}

#[test]
fn records_of_the_client_are_those_of_rfc_8448() {
    let secret = bytes(CLIENT_SECRET);
    let payload: Vec<u8> = (0..50).collect();
    let data = bytes(
        "17 03 03 00 43 a2 3f 70 54 b6 2c 94 d0 af fa fe 82 28 ba 55 cb ef ac ea 42 f9 14 aa 66 bc ab 3f
         2b 98 19 a8 a5 b4 6b 39 5b d5 4a 9a 20 44 1e 2b 62 97 4e 1f 5a 62 92 a2 97 70 14 bd 1e 3d ea e6
         3a ee bb 21 69 49 15 e4",
    );
    let alert = bytes("17 03 03 00 13 c9 87 27 60 65 56 66 b7 4d 7f f1 15 3e fd 6d b6 d0 b0 e3");
    let (mut outbound, mut inbound) = pair(&accelerator(), &Keys::from_secret(SUITE, &secret));
    assert_eq!(sealed(&mut outbound, &payload, DATA), data);
    assert_eq!(sealed(&mut outbound, &[1, 0], ContentType::ALERT), alert);
    assert_eq!(opened_one(&mut inbound, &data), Ok((payload, DATA)));
    assert_close(&mut inbound, &alert);
}

/// The server's first record under these keys is a ticket.
#[test]
fn records_of_the_server_are_those_of_rfc_8448() {
    let secret = bytes(SERVER_SECRET);
    let payload: Vec<u8> = (0..50).collect();
    let data = bytes(
        "17 03 03 00 43 2e 93 7e 11 ef 4a c7 40 e5 38 ad 36 00 5f c4 a4 69 32 fc 32 25 d0 5f 82 aa 1b 36
         e3 0e fa f9 7d 90 e6 df fc 60 2d cb 50 1a 59 a8 fc c4 9c 4b f2 e5 f0 a2 1c 00 47 c2 ab f3 32 54
         0d d0 32 e1 67 c2 95 5d",
    );
    let alert = bytes("17 03 03 00 13 b5 8f d6 71 66 eb f5 99 d2 47 20 cf be 7e fa 7a 88 64 a9");
    let keys = Keys::from_secret(SUITE, &secret).sequence(1);
    let (mut outbound, mut inbound) = pair(&accelerator(), &keys);
    assert_eq!(sealed(&mut outbound, &payload, DATA), data);
    assert_eq!(sealed(&mut outbound, &[1, 0], ContentType::ALERT), alert);
    assert_eq!(opened_one(&mut inbound, &data), Ok((payload, DATA)));
    assert_close(&mut inbound, &alert);
}

fn assert_close(inbound: &mut Inbound, alert: &[u8]) {
    assert_eq!(
        opened_one(inbound, alert),
        Ok((vec![1, 0], ContentType::ALERT))
    );
}
