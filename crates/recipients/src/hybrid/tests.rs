use ::age::{Identity as _, Recipient as _};
use age_core::format::is_arbitrary_string;
use sha2::{Digest as _, Sha256};

use super::*;

/// Checks the vector with MLKEM768-X25519, HKDF-SHA256 and ChaCha20-Poly1305 (mode base) of draft-ietf-hpke-pq. Its long
/// values are compared by their SHA-256.
#[test]
fn the_published_vector_of_hpke_comes_out() {
    let (secret, public) = XWing::derive_keypair(&hex(
        "0379761fa4f6869592b0d1f9a71eb92b122dc030a7a8858132109f6b1a4bbde4",
    ));
    assert_eq!(
        secret.to_bytes()[..],
        hex("b3f98b03126a431ccecc62ae0f68e102c2d8e1cc7b21ba85d821d8e31761e0f8")
    );
    assert_eq!(
        Sha256::digest(public.to_bytes())[..],
        hex("120b60e0ae3c00c1c9def1c61aeb12de710bfa49646ae6f99a7e564b25ace493")
    );
    let info =
        hex("34663634363532303666366532303631323034373732363536333639363136653230353537323665");
    let aad = hex("436f756e742d30");
    let plaintext = hex(
        "34323635363137353734373932303639373332303734373237353734363832633230373437323735373436383230\
         363236353631373537343739",
    );
    let mut randomness = Told(hex(
        "a3a869097e0241158eca5dc6c9e695f9e0d2ee5db51c09c435aab69d56509a43d94ff76d7d47cf79ecf75394261236\
         cec024bd849cc782e14f7f0738af83daed",
    ));
    let (enc, sealed) = seal(&public, &info, &plaintext, &aad, &mut randomness).unwrap();
    assert_eq!(
        Sha256::digest(enc.to_bytes())[..],
        hex("3a7ef30fb815e75b7f0f16f5bab5c36250882d94ea0f776cc2241cdd3b36b480")
    );
    assert_eq!(
        sealed,
        hex(
            "ac355d192158cd54250e1702be51e9d2eafe5f9292a9f153e02a2323e1ff071a30947836c38c63c986c28ccf05e0\
             0d4e5fe066a48ab8d5b39c69d32da80c93dc868daa0f853a6cbdd640"
        )
    );
    let (sealed, tag) = sealed.split_at(plaintext.len());
    let (mut opened, tag) = (sealed.to_vec(), Tag::from_bytes(tag).unwrap());
    let opened_all = InOutBuf::from(&mut opened[..]);
    open(&secret, &enc, &info, opened_all, &aad, &tag).unwrap();
    assert_eq!(opened, plaintext);
}

#[test]
fn strings_of_the_specification_are_read_and_written() {
    let identity: Identity = IDENTITY.parse().unwrap();
    assert_eq!(identity.to_string().expose_secret(), IDENTITY);
    assert_eq!(
        identity.to_string().expose_secret().len(),
        IDENTITY_CHARACTERS
    );
    let recipient = identity.to_public();
    let text = recipient.to_string();
    assert_eq!(text.len(), "age1pq1".len() + 1952);
    // The specification has the whole string.
    assert!(
        text.starts_with("age1pq1x34nzsvr0rxjsgdn8zgyhfe8j7ceq5r9rdelkjuh3y235jzxshfg87pzf5zrqtz")
    );
    assert!(text.ends_with("fqdkmhh6gjtqmwze9pyyzk3tlhl53k2ykx3qheyty7saeq0d3fzv49zc0k"));
    assert!(text.parse::<Recipient>().unwrap() == recipient);
}

#[test]
fn what_one_wraps_the_other_unwraps() {
    let (identity, other) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    assert!(identity.to_public() != other.to_public());
    let key = file_key();
    let (stanzas, labels) = identity.to_public().wrap_file_key(&key).unwrap();
    let [stanza] = &stanzas[..] else {
        panic!("{} stanzas", stanzas.len());
    };
    assert_eq!((&*stanza.tag, stanza.args.len()), ("mlkem768x25519", 1));
    assert!(is_arbitrary_string(&stanza.args[0]));
    assert_eq!(stanza.body.len(), 32);
    assert_eq!(labels, HashSet::from(["postquantum".to_owned()]));
    let opened = identity.unwrap_stanza(stanza).unwrap().unwrap();
    assert_eq!(opened.expose_secret(), key.expose_secret());
    assert!(other.unwrap_stanza(stanza).is_none());
    // No two stanzas are alike.
    let again = identity.to_public().wrap_file_key(&key).unwrap().0;
    assert!(again[0].args != stanza.args && again[0].body != stanza.body);
}

#[test]
fn malformed_stanzas_are_refused_and_changed_ones_fit_nobody() {
    let identity: Identity = IDENTITY.parse().unwrap();
    let good = identity
        .to_public()
        .wrap_file_key(&file_key())
        .unwrap()
        .0
        .remove(0);
    let enc = BASE64_STANDARD_NO_PAD.decode(&good.args[0]).unwrap();
    let with_enc = |enc: &[u8]| Stanza {
        tag: STANZA_TAG.into(),
        args: vec![BASE64_STANDARD_NO_PAD.encode(enc)],
        body: good.body.clone(),
    };
    let with_args = |args: &[&str]| Stanza {
        tag: STANZA_TAG.into(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        body: good.body.clone(),
    };
    let with_body = |body: &[u8]| Stanza {
        tag: STANZA_TAG.into(),
        args: good.args.clone(),
        body: body.to_vec(),
    };
    let mut low_order = enc.clone();
    low_order[1088..].fill(0);
    let mut order_eight = enc.clone();
    // https://cr.yp.to/ecdh.html#validate lists the points of low order.
    order_eight[1088..].copy_from_slice(&hex(
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    ));
    let malformed = [
        with_args(&[]),
        with_args(&[&good.args[0], &good.args[0]]),
        with_args(&["not base64"]),
        with_args(&[&format!("{}=", good.args[0])]),
        // 1120 bytes leave bits of the last character unused.
        with_args(&[&uncanonical(&good.args[0])]),
        with_enc(&[]),
        with_enc(&enc[1..]),
        with_enc(&[&enc[..], &[0]].concat()),
        with_enc(&low_order),
        with_enc(&order_eight),
        with_body(&[]),
        with_body(&good.body[1..]),
        with_body(&[&good.body[..], &[0]].concat()),
    ];
    for (number, stanza) in malformed.iter().enumerate() {
        let result = identity.unwrap_stanza(stanza);
        let is_refused = matches!(result, Some(Err(DecryptError::InvalidHeader)));
        assert!(is_refused, "malformed stanza {number}");
    }
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    for at in [0, 500, 1087, 1088, 1119] {
        let stanza = with_enc(&flipped(&enc, at));
        assert!(
            identity.unwrap_stanza(&stanza).is_none(),
            "byte {at} of enc"
        );
    }
    for at in [0, 15, 16, 31] {
        let stanza = with_body(&flipped(&good.body, at));
        assert!(
            identity.unwrap_stanza(&stanza).is_none(),
            "byte {at} of the body"
        );
    }
    for tag in ["X25519", "MLKEM768X25519", "mlkem768p256tag"] {
        let stanza = Stanza {
            tag: tag.into(),
            args: good.args.clone(),
            body: good.body.clone(),
        };
        assert!(identity.unwrap_stanza(&stanza).is_none(), "{tag}");
    }
    assert!(identity.unwrap_stanza(&good).unwrap().is_ok());
}

#[test]
fn strings_that_are_no_keys_are_refused() {
    let identity: Identity = IDENTITY.parse().unwrap();
    let recipient = identity.to_public().to_string();
    let of_bytes = |hrp: &str, bytes: &[u8]| {
        let mut text = String::new();
        encode(hrp, bytes, |c| {
            text.push(c);
            Ok::<(), Infallible>(())
        })
        .unwrap();
        text
    };
    let mut bytes = identity.to_public().0.to_bytes().to_vec();
    let mut out_of_range = bytes.clone();
    // 12 bits of ones, which is more than the prime 3329.
    out_of_range[..2].fill(0xff);
    bytes[1184..].fill(0);
    let changed = |text: &str, at: usize| {
        let mut changed = text.to_owned().into_bytes();
        changed[at] = if changed[at] == b'q' { b'p' } else { b'q' };
        String::from_utf8(changed).unwrap()
    };
    let cases = [
        ("", InvalidKey::Kind),
        ("age1pq", InvalidKey::Kind),
        ("age1pq1", InvalidKey::Checksum),
        (&recipient.to_uppercase(), InvalidKey::Kind),
        (IDENTITY, InvalidKey::Kind),
        (&changed(&recipient, 7), InvalidKey::Checksum),
        (&changed(&recipient, 1958), InvalidKey::Checksum),
        (&recipient[..1958], InvalidKey::Checksum),
        (&format!("{recipient} "), InvalidKey::Checksum),
        (&recipient.replacen("x34", "X34", 1), InvalidKey::Checksum),
        (&of_bytes("age1pq1x", &[0; 1216]), InvalidKey::Kind),
        (&of_bytes("age1pq", &[0; 1215]), InvalidKey::Length),
        (&of_bytes("age1pq", &[0; 1217]), InvalidKey::Length),
        (&of_bytes("age1pq", &out_of_range), InvalidKey::PublicKey),
        (&of_bytes("age1pq", &bytes), InvalidKey::PublicKey),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Recipient>().unwrap_err(), expected, "{text}");
    }
    let shorter = of_bytes(IDENTITY_HRP, &[0; 31]).to_uppercase();
    let cases = [
        (&*recipient, InvalidKey::Kind),
        (&IDENTITY.to_lowercase(), InvalidKey::Kind),
        (&IDENTITY[..76], InvalidKey::Checksum),
        (&IDENTITY.replace("X76", "Q76"), InvalidKey::Checksum),
        (&shorter, InvalidKey::Length),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Identity>().unwrap_err(), expected, "{text}");
    }
}

#[test]
fn nothing_secret_is_in_debug_output() {
    let identity: Identity = IDENTITY.parse().unwrap();
    assert_eq!(format!("{identity:?}"), "Identity(..)");
}

/// Returns another spelling of the same bytes: the last character has unused bits, one of which is set.
fn uncanonical(text: &str) -> String {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (rest, last) = text.split_at(text.len() - 1);
    let value = ALPHABET.find(last).unwrap();
    assert_eq!(value % 4, 0);
    format!("{rest}{}", &ALPHABET[value + 1..value + 2])
}

fn file_key() -> FileKey {
    FileKey::new(Box::new(*b"YELLOW SUBMARINE"))
}

fn hex(text: &str) -> Vec<u8> {
    hex::decode(text).unwrap()
}

/// A source of given bytes in place of random ones.
struct Told(Vec<u8>);

impl TryRng for Told {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        panic!("encapsulation asks for bytes");
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        panic!("encapsulation asks for bytes");
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        let rest = self.0.split_off(bytes.len());
        bytes.copy_from_slice(&std::mem::replace(&mut self.0, rest));
        Ok(())
    }
}

impl TryCryptoRng for Told {}

/// The identity of the age v1 test vector, "The MLKEM768-X25519 (i.e. X-Wing) hybrid post-quantum recipient type".
const IDENTITY: &str =
    "AGE-SECRET-KEY-PQ-1XX76JRALNLXDMEW0CRK45QMCCH4X06SE84UN3VPM33W6HWDX0H3SK3ZQFR";
