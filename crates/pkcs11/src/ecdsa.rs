//! The two forms of an ECDSA signature: DER, as everywhere else, and PKCS#11's: r and s, each as long as the curve's order.

use der::asn1::UintRef;
use der::{Decode as _, Encode as _, Reader as _, SliceReader};
use oarlock::keys::Curve;

/// Returns r and s of a signature in DER; `None` if it is not one of this curve.
pub(crate) fn to_fixed(curve: Curve, signature: &[u8]) -> Option<Vec<u8>> {
    let bytes = curve.bytes();
    let numbers = || {
        let mut reader = SliceReader::new(signature)?;
        let numbers = reader.sequence(|reader| {
            let r = UintRef::decode(reader)?;
            let s = UintRef::decode(reader)?;
            Ok::<_, der::Error>([r, s])
        })?;
        reader.finish()?;
        Ok::<_, der::Error>(numbers)
    };
    let mut fixed = Vec::with_capacity(2 * bytes);
    for number in numbers().ok()? {
        let number = number.as_bytes();
        let zeros = bytes.checked_sub(number.len())?;
        fixed.resize(fixed.len() + zeros, 0);
        fixed.extend_from_slice(number);
    }
    Some(fixed)
}

/// Returns the DER of r and s; `None` if their length is not that of the curve.
pub(crate) fn to_der(curve: Curve, signature: &[u8]) -> Option<Vec<u8>> {
    if signature.len() != 2 * curve.bytes() {
        return None;
    }
    let (r, s) = signature.split_at(curve.bytes());
    let numbers = [UintRef::new(r).ok()?, UintRef::new(s).ok()?];
    let content = [numbers[0].to_der().ok()?, numbers[1].to_der().ok()?].concat();
    let length = der::Length::try_from(content.len()).ok()?;
    let mut written = der::Header::new(der::Tag::Sequence, length).to_der().ok()?;
    written.extend_from_slice(&content);
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        for curve in Curve::ALL {
            let bytes = curve.bytes();
            for first in [0, 1, 0x7f, 0x80, 0xff] {
                let mut fixed = vec![0x55; 2 * bytes];
                (fixed[0], fixed[bytes]) = (first, 0);
                let der = to_der(curve, &fixed).unwrap();
                assert_eq!(to_fixed(curve, &der), Some(fixed));
                for cut in 0..der.len() {
                    assert_eq!(to_fixed(curve, &der[..cut]), None);
                }
                assert_eq!(to_fixed(curve, &[&der[..], &[0]].concat()), None);
            }
            assert_eq!(to_der(curve, &vec![1; 2 * bytes - 1]), None);
        }
        let long = to_der(Curve::P384, &[0x55; 96]).unwrap();
        assert_eq!(to_fixed(Curve::P256, &long), None);
    }
}
