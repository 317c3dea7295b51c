use super::*;

#[test]
fn both_sides_have_the_same_secret() {
    for hybrid in Hybrid::ALL {
        let private = HybridPrivateKey::generate(hybrid).unwrap();
        let (ciphertext, secret) = encapsulated(&public_of(&private)).unwrap();
        let (other, others) = encapsulated(&public_of(&private)).unwrap();
        assert!(ciphertext != other && secret != others, "{hybrid:?}");
        assert_eq!(
            decapsulated(&private, &ciphertext).unwrap(),
            secret,
            "{hybrid:?}"
        );
        assert_eq!(
            decapsulated(&private, &other).unwrap(),
            others,
            "{hybrid:?}"
        );
        let again = HybridPrivateKey::from_bytes(hybrid, &private.to_bytes().unwrap()).unwrap();
        assert_eq!(
            decapsulated(&again, &ciphertext).unwrap(),
            secret,
            "{hybrid:?}"
        );
        assert_eq!(bytes_of(&again), bytes_of(&private), "{hybrid:?}");
    }
}

/// Checks each part alone, in the order of the draft, sections 4.1 to 4.3.
#[test]
fn parts_are_in_order() {
    for (hybrid, group, lengths) in [
        (Hybrid::X25519MlKem768, 0x11ec, [1216, 1120, 64]),
        (Hybrid::SecP256r1MlKem768, 0x11eb, [1249, 1153, 64]),
        (Hybrid::SecP384r1MlKem1024, 0x11ed, [1665, 1665, 80]),
    ] {
        assert_eq!(hybrid.group(), group);
        assert_eq!(
            [
                hybrid.public_key_bytes(),
                hybrid.ciphertext_bytes(),
                hybrid.secret_bytes()
            ],
            lengths
        );
    }
    let private = HybridPrivateKey::generate(Hybrid::X25519MlKem768).unwrap();
    let (ciphertext, secret) = encapsulated(&public_of(&private)).unwrap();
    let bytes = private.to_bytes().unwrap();
    let ml_kem = MlKemPrivateKey::from_bytes(MlKem::MlKem768, &bytes[..2400]).unwrap();
    let x25519 = X25519PrivateKey::from_bytes(bytes[2400..].try_into().unwrap());
    assert_eq!(bytes_of(&private)[1184..], x25519.public_key());
    let mut parts = [[0; 32]; 2];
    ml_kem
        .decapsulate(&ciphertext[..1088], &mut parts[0])
        .unwrap();
    assert!(x25519.agree(ciphertext[1088..].try_into().unwrap(), &mut parts[1]));
    assert_eq!(secret, parts.concat());
    for (hybrid, curve) in EC {
        let private = HybridPrivateKey::generate(hybrid).unwrap();
        let (ciphertext, secret) = encapsulated(&public_of(&private)).unwrap();
        let bytes = private.to_bytes().unwrap();
        let (scalar, ml_kem) = bytes.split_at(curve.bytes());
        let (point, ciphertext) = ciphertext.split_at(curve.point_bytes());
        let (of_curve, of_ml_kem) = secret.split_at(curve.bytes());
        let ml_kem = MlKemPrivateKey::from_bytes(hybrid.ml_kem(), ml_kem).unwrap();
        let mut made = [0; 32];
        ml_kem.decapsulate(ciphertext, &mut made).unwrap();
        assert_eq!(made, of_ml_kem, "{hybrid:?}");
        let scalar = EcPrivateKey::new(curve, scalar).unwrap();
        let public = bytes_of(&private);
        let own = scalar
            .public_key()
            .point(&mut [0; POINT_BYTES_MAX])
            .to_vec();
        assert_eq!(public[..curve.point_bytes()], own, "{hybrid:?}");
        let mut made = vec![0; curve.bytes()];
        scalar
            .agree(&EcPublicKey::new(curve, point).unwrap(), &mut made)
            .unwrap();
        assert_eq!(made, of_curve, "{hybrid:?}");
    }
}

const EC: [(Hybrid, Curve); 2] = [
    (Hybrid::SecP256r1MlKem768, Curve::P256),
    (Hybrid::SecP384r1MlKem1024, Curve::P384),
];

#[test]
fn points_that_are_none_are_refused() {
    for (hybrid, curve) in EC {
        let private = HybridPrivateKey::generate(hybrid).unwrap();
        let public = bytes_of(&private);
        let (ciphertext, _) = encapsulated(&public_of(&private)).unwrap();
        let last = curve.point_bytes() - 1;
        let mut bads = Vec::new();
        for good in [&public, &ciphertext] {
            let mut altered = |alter: &dyn Fn(&mut [u8])| {
                let mut bad = good.clone();
                alter(&mut bad[..=last]);
                bads.push(bad);
            };
            // A point off the curve, infinity, the compressed and the hybrid form in place of the uncompressed one, and
            // unreduced coordinates.
            altered(&|point| point[last] ^= 1);
            altered(&|point| point.fill(0));
            altered(&|point| point[1..].fill(0));
            for form in [0, 1, 2, 3, 5, 6, 7] {
                altered(&|point| point[0] = form);
            }
            altered(&|point| point[1..].fill(0xff));
        }
        let (publics, ciphertexts) = bads.split_at(bads.len() / 2);
        for bad in publics {
            let refused = HybridPublicKey::from_bytes(hybrid, bad);
            assert!(
                matches!(refused, Err(Error::InvalidKey(_))),
                "{hybrid:?} {:x?}",
                &bad[..5]
            );
        }
        for bad in ciphertexts {
            let mut secret = vec![7; hybrid.secret_bytes()];
            let refused = private.decapsulate(bad, &mut secret);
            assert!(
                matches!(refused, Err(Error::InvalidKey(_))),
                "{hybrid:?} {:x?}",
                &bad[..5]
            );
            assert!(secret.iter().all(|byte| *byte == 0), "{hybrid:?}");
        }
    }
}

#[test]
fn an_altered_ciphertext_has_another_secret() {
    for hybrid in Hybrid::ALL {
        let private = HybridPrivateKey::generate(hybrid).unwrap();
        let (ciphertext, secret) = encapsulated(&public_of(&private)).unwrap();
        let (ml_kem, curve) = (hybrid.ml_kem().ciphertext_bytes(), hybrid.share_bytes());
        let ml_kem_at = if hybrid.is_ml_kem_first() { 0 } else { curve };
        for at in [ml_kem_at, ml_kem_at + ml_kem - 1] {
            let mut altered = ciphertext.clone();
            altered[at] ^= 0x10;
            assert_ne!(
                decapsulated(&private, &altered).unwrap(),
                secret,
                "{hybrid:?} {at}"
            );
        }
    }
}

#[test]
fn cut_and_extended_shares_are_refused() {
    for hybrid in Hybrid::ALL {
        let private = HybridPrivateKey::generate(hybrid).unwrap();
        let public = bytes_of(&private);
        let (ciphertext, _) = encapsulated(&public_of(&private)).unwrap();
        let lengths = |whole: usize| {
            let parts = [
                0,
                1,
                31,
                32,
                hybrid.share_bytes(),
                hybrid.ml_kem().public_key_bytes(),
            ];
            [whole - 1, whole + 1, 2 * whole].into_iter().chain(parts)
        };
        let cut = |bytes: &[u8], length: usize| -> Vec<u8> {
            bytes.iter().copied().cycle().take(length).collect()
        };
        for length in lengths(public.len()) {
            let refused = HybridPublicKey::from_bytes(hybrid, &cut(&public, length));
            assert!(
                matches!(refused, Err(Error::InvalidInput(_))),
                "{hybrid:?} {length}"
            );
        }
        for length in lengths(ciphertext.len()) {
            let refused = decapsulated(&private, &cut(&ciphertext, length));
            assert!(
                matches!(refused, Err(Error::InvalidInput(_))),
                "{hybrid:?} {length}"
            );
        }
        for length in lengths(hybrid.private_key_bytes()) {
            let refused = HybridPrivateKey::from_bytes(hybrid, &vec![1; length]);
            assert!(refused.is_err(), "{hybrid:?} {length}");
        }
    }
}

/// The points of order 1, 2, 4 and 8, and two of them plus p (RFC 7748, section 7).
#[test]
fn shares_of_small_order_are_refused() {
    let hybrid = Hybrid::X25519MlKem768;
    let private = HybridPrivateKey::generate(hybrid).unwrap();
    let (mut ciphertext, _) = encapsulated(&public_of(&private)).unwrap();
    let mut public = bytes_of(&private);
    for point in small_order() {
        ciphertext[1088..].copy_from_slice(&point);
        let mut secret = [7; 64];
        let refused = private.decapsulate(&ciphertext, &mut secret);
        assert!(matches!(refused, Err(Error::InvalidKey(_))), "{point:x?}");
        assert_eq!(secret, [0; 64], "{point:x?}");
        public[1184..].copy_from_slice(&point);
        let key = HybridPublicKey::from_bytes(hybrid, &public).unwrap();
        let mut secret = [7; 64];
        let refused = key.encapsulate(&mut [0; 1120], &mut secret);
        assert!(matches!(refused, Err(Error::InvalidKey(_))), "{point:x?}");
        assert_eq!(secret, [0; 64], "{point:x?}");
    }
}

fn small_order() -> Vec<[u8; 32]> {
    let mut p = [0xff; 32];
    p[0] = 0xed;
    p[31] = 0x7f;
    let plus = |small: u8| {
        let mut sum = p;
        sum[0] += small;
        sum
    };
    let minus_1 = {
        let mut point = p;
        point[0] -= 1;
        point
    };
    let mut one = [0; 32];
    one[0] = 1;
    let of_order_8 = [
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    ];
    let parse = |hex: &str| {
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
    };
    let mut points = vec![[0; 32], one, minus_1, plus(0), plus(1)];
    points.extend(of_order_8.map(parse));
    points
}

#[test]
fn a_public_key_with_an_unreduced_coefficient_is_refused() {
    for hybrid in Hybrid::ALL {
        let private = HybridPrivateKey::generate(hybrid).unwrap();
        let mut public = bytes_of(&private);
        let at = if hybrid.is_ml_kem_first() {
            0
        } else {
            hybrid.share_bytes()
        };
        public[at..at + 3].fill(0xff);
        let refused = HybridPublicKey::from_bytes(hybrid, &public);
        assert!(matches!(refused, Err(Error::InvalidKey(_))), "{hybrid:?}");
    }
}

fn bytes_of(private: &HybridPrivateKey) -> Vec<u8> {
    let mut bytes = vec![0; private.hybrid().public_key_bytes()];
    private.write_public_to(&mut bytes).unwrap();
    bytes
}

fn public_of(private: &HybridPrivateKey) -> HybridPublicKey {
    let bytes = bytes_of(private);
    let public = HybridPublicKey::from_bytes(private.hybrid(), &bytes).unwrap();
    let mut again = vec![0; bytes.len()];
    public.write_to(&mut again).unwrap();
    assert_eq!(again, bytes);
    public
}

fn encapsulated(public: &HybridPublicKey) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let hybrid = public.hybrid();
    let mut ciphertext = vec![0; hybrid.ciphertext_bytes()];
    let mut secret = vec![0; hybrid.secret_bytes()];
    public.encapsulate(&mut ciphertext, &mut secret)?;
    Ok((ciphertext, secret))
}

fn decapsulated(private: &HybridPrivateKey, ciphertext: &[u8]) -> Result<Vec<u8>, Error> {
    let mut secret = vec![0; private.hybrid().secret_bytes()];
    private.decapsulate(ciphertext, &mut secret)?;
    Ok(secret)
}
