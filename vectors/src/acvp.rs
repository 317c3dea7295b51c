//! NIST's vectors for FIPS 203 and FIPS 204, of its Automated Cryptographic Validation Protocol.
//!
//! Questions and answers are JSON files that `cargo xtask vectors` fetches with the Go module
//! `github.com/geomys/acvp-testdata`: sets of groups of tests, in the same order in both. A set without groups describes
//! the session. Every function fails with [`Error`] where a file cannot be read or holds no vectors.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{Error, MlDsaVector, MlKemVector, SignatureVector, fetched};

/// Keys, ciphertexts and secrets of ML-KEM-768 and ML-KEM-1024.
///
/// # Errors
/// See [the module](self).
pub fn ml_kem() -> Result<Vec<MlKemVector>, Error> {
    let vectors = read("ML-KEM", |test| {
        Ok(MlKemVector {
            source: test.source(),
            set: test.text("parameterSet")?,
            seed: [test.bytes("d")?, test.bytes("z")?].concat(),
            public_key: test.bytes("ek")?,
            private_key: test.bytes("dk")?,
            random: test.bytes("m")?,
            ciphertext: test.bytes("c")?,
            secret: test.bytes("k")?,
            is_valid: true,
        })
    })?;
    some(vectors)
}

/// Keys of ML-DSA, as seeds or expanded, and signatures of messages, of all three parameter sets. Those of a message that the
/// caller has hashed (`externalMu`) are left out.
///
/// # Errors
/// See [the module](self).
pub fn ml_dsa() -> Result<Vec<MlDsaVector>, Error> {
    let vectors = read("ML-DSA", |test| {
        let name = test.text("parameterSet")?;
        let algorithm = ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"]
            .into_iter()
            .find(|one| *one == name)
            .ok_or_else(|| test.fail("parameterSet"))?;
        let is_of_message = !test.is("externalMu")?.unwrap_or(false);
        Ok(is_of_message.then_some(MlDsaVector {
            signed: SignatureVector {
                source: test.source(),
                algorithm,
                public_key: test.bytes("pk")?,
                context: test.bytes("context")?,
                message: test.bytes("message")?,
                signature: test.bytes("signature")?,
                is_valid: test.is("testPassed")?.unwrap_or(true),
            },
            seed: test.bytes("seed")?,
            private_key: test.bytes("sk")?,
            pkcs8: Vec::new(),
        }))
    })?;
    some(vectors.into_iter().flatten().collect())
}

/// Hands every test of an algorithm to `take`.
fn read<T>(algorithm: &str, take: impl Fn(Test<'_>) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    let [questions, answers] =
        ["questions/vectors", "answers/expected"].map(|part| sets(part, algorithm));
    let (questions, answers) = (questions?, answers?);
    let mut taken = Vec::new();
    for (asked, told) in pairs(&questions, &answers)? {
        for (group, answered) in pairs(&asked.test_groups, &told.test_groups)? {
            for (question, answer) in pairs(&group.tests, &answered.tests)? {
                let test = Test {
                    algorithm,
                    parts: [&group.of, question, answer],
                };
                if question.get("tcId") != answer.get("tcId") {
                    return Err(test.fail("the answer is another test's"));
                }
                taken.push(take(test)?);
            }
        }
    }
    Ok(taken)
}

fn pairs<'a, T>(
    questions: &'a [T],
    answers: &'a [T],
) -> Result<impl Iterator<Item = (&'a T, &'a T)>, Error> {
    if questions.len() != answers.len() {
        return Err(Error("acvp: not every question has an answer".to_owned()));
    }
    Ok(questions.iter().zip(answers))
}

fn sets(part: &str, algorithm: &str) -> Result<Vec<Set>, Error> {
    let path = fetched::folder(&format!("vectors/acvp-{part}")).join(format!("{algorithm}.json"));
    let text = std::fs::read(&path).map_err(|error| fetched::missing(&path, &error))?;
    serde_json::from_slice(&text).map_err(|error| Error(format!("{}: {error}", path.display())))
}

fn some<T>(vectors: Vec<T>) -> Result<Vec<T>, Error> {
    if vectors.is_empty() {
        return Err(Error("acvp: a file holds no vectors".to_owned()));
    }
    Ok(vectors)
}

/// A test: what its group shares, its question and its answer.
struct Test<'a> {
    algorithm: &'a str,
    parts: [&'a Map<String, Value>; 3],
}

impl Test<'_> {
    fn source(&self) -> String {
        let number = self.value("tcId").and_then(Value::as_u64);
        format!("acvp {} #{}", self.algorithm, number.unwrap_or_default())
    }

    fn fail(&self, reason: &str) -> Error {
        Error(format!("{}: {reason}", self.source()))
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.parts.iter().find_map(|part| part.get(name))
    }

    fn text(&self, name: &str) -> Result<String, Error> {
        let text = self.value(name).and_then(Value::as_str);
        text.map(str::to_owned).ok_or_else(|| self.fail(name))
    }

    /// The bytes of that name; none where the test does not have it.
    fn bytes(&self, name: &str) -> Result<Vec<u8>, Error> {
        if self.value(name).is_none() {
            return Ok(Vec::new());
        }
        let text = self.text(name)?;
        hex::decode(text).map_err(|error| self.fail(&format!("{name}: {error}")))
    }

    /// What is said about it; `None` where nothing is.
    fn is(&self, name: &str) -> Result<Option<bool>, Error> {
        let value = self.value(name);
        let said = value.map(|value| value.as_bool().ok_or_else(|| self.fail(name)));
        said.transpose()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Set {
    #[serde(default)]
    test_groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(flatten)]
    of: Map<String, Value>,
    tests: Vec<Map<String, Value>>,
}
