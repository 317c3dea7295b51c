//! What `oarlock run --stats` counts and does not time: key exchanges, derivations, MACs and signatures.

use oarlock_engine::costs::{CountedOperations, Performed};
use serde::Serialize;

/// By one group. A server encapsulates, a client decapsulates.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct KeyExchanges {
    group: &'static str,
    encapsulated: u64,
    decapsulated: u64,
}

impl KeyExchanges {
    /// One for each post-quantum group; those of a group follow each other in `counted`.
    pub(crate) fn all(counted: &[CountedOperations]) -> Vec<Self> {
        let by_primitive = counted.chunk_by(|one, other| one.primitive == other.primitive);
        let of_groups = by_primitive.filter(|all| all[0].primitive.is_group());
        of_groups.map(Self::of).collect()
    }

    fn of(counted: &[CountedOperations]) -> Self {
        let count = |performed| {
            let mut all = counted.iter();
            all.find(|it| it.performed == performed)
                .map_or(0, |it| it.count)
        };
        Self {
            group: counted[0].primitive.name(),
            encapsulated: count(Performed::Encapsulated),
            decapsulated: count(Performed::Decapsulated),
        }
    }

    pub(crate) fn to_text(self) -> String {
        format!(
            "{} key exchanges by {}: {} as server, {} as client\n",
            self.encapsulated + self.decapsulated,
            self.group,
            self.encapsulated,
            self.decapsulated
        )
    }
}

/// The operations of one primitive. Operations that did not occur are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct PrimitiveOperations {
    operation: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    generated: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    derived: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authenticated: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encapsulated: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decapsulated: Option<u64>,
}

impl PrimitiveOperations {
    /// One for each primitive other than groups; those of a primitive follow each other in `counted`.
    pub(crate) fn all(counted: &[CountedOperations]) -> Vec<Self> {
        let by_primitive = counted.chunk_by(|one, other| one.primitive == other.primitive);
        let of_others = by_primitive.filter(|all| !all[0].primitive.is_group());
        of_others.map(Self::of).collect()
    }

    fn of(counted: &[CountedOperations]) -> Self {
        let mut all = Self::default();
        for it in counted {
            all.operation = it.primitive.name();
            let place = match it.performed {
                Performed::Generated => &mut all.generated,
                Performed::Derived => &mut all.derived,
                Performed::Authenticated => &mut all.authenticated,
                Performed::Signed => &mut all.signed,
                Performed::Verified => &mut all.verified,
                Performed::Encapsulated => &mut all.encapsulated,
                Performed::Decapsulated => &mut all.decapsulated,
            };
            *place = Some(it.count);
        }
        all
    }

    pub(crate) fn to_text(self) -> String {
        let counts = [
            (self.generated, "key pairs generated"),
            (self.derived, "secrets derived"),
            (self.authenticated, "tags computed"),
            (self.signed, "signatures made"),
            (self.verified, "signatures verified"),
            (self.encapsulated, "secrets encapsulated"),
            (self.decapsulated, "secrets decapsulated"),
        ];
        let counts: Vec<_> = counts
            .into_iter()
            .filter_map(|(count, what)| Some(format!("{} {what}", count?)))
            .collect();
        format!("{}: {}\n", self.operation, counts.join(", "))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use oarlock_engine::Primitive;

    use super::*;

    #[test]
    fn what_was_done_is_a_line_for_each_primitive() {
        let counted = [
            (Primitive::Hmac, Performed::Authenticated, 1),
            (Primitive::X25519, Performed::Generated, 2),
            (Primitive::X25519, Performed::Derived, 3),
            (Primitive::X25519MlKem768, Performed::Encapsulated, 5),
            (Primitive::X25519MlKem768, Performed::Decapsulated, 6),
            (Primitive::SecP256r1MlKem768, Performed::Decapsulated, 7),
            (Primitive::EcP256, Performed::Signed, 4),
        ];
        let counted = counted.map(|(primitive, performed, count)| CountedOperations {
            primitive,
            performed,
            count,
        });
        let all = PrimitiveOperations::all(&counted);
        let text: String = all.iter().map(|it| it.to_text()).collect();
        assert_eq!(
            text,
            "hmac: 1 tags computed\nx25519: 2 key pairs generated, 3 secrets derived\nec-p256: 4 signatures made\n"
        );
        assert_eq!(
            serde_json::to_string(&all[1]).unwrap(),
            r#"{"operation":"x25519","generated":2,"derived":3}"#
        );
        let exchanges = KeyExchanges::all(&counted);
        let sides = exchanges
            .iter()
            .map(|it| (it.group, it.encapsulated, it.decapsulated));
        let groups = [Primitive::X25519MlKem768, Primitive::SecP256r1MlKem768];
        let [first, second] = groups.map(Primitive::name);
        assert!(sides.eq([(first, 5, 6), (second, 0, 7)]));
    }
}
