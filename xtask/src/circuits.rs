//! `cargo xtask circuits`: writes the S-boxes of Triple DES and Serpent as bitsliced code.
//!
//! A circuit is a list of gates, each of earlier values: two operands for most instruction sets, three for `vpternlogq`.
//! `found.txt` has the circuits. They are the smallest that a search found by the recursive method of "Reducing the gate count
//! of bitslice DES" (Kwan, 2000), over a pool of gates that all outputs share; its program is `circuits/search.rs` of commit
//! e8861b86. Every circuit is compared with the table of its standard, for all inputs, before it becomes code.

mod boxes;
mod gate;

use std::fmt::Write as _;
use std::path::Path;

use self::boxes::{Cipher, SBox};
use self::gate::Gate;
use crate::files::{self, Generated};
use crate::tool::Result;

/// Writes the code.
pub fn run(root: &Path) -> Result<()> {
    files::generate(root, &generated(root)?)
}

/// Fails unless the code is what this program would write.
pub fn check(root: &Path) -> Result<()> {
    files::compare(root, &generated(root)?, "circuits")
}

/// A line of `found.txt`: `CIPHER NUMBER OPERANDS : GATES = OUTPUTS`.
struct Found {
    cipher: &'static Cipher,
    /// The index of the box, from 0.
    number: usize,
    /// The operands of a gate: 2 or 3.
    operands: usize,
    gates: Vec<Gate>,
    outputs: Vec<usize>,
}

impl Found {
    /// Returns the box of the standard.
    fn s_box(&self) -> SBox {
        self.cipher.s_box(self.number)
    }

    fn name(&self) -> String {
        format!("{} {} {}", self.cipher.name, self.number, self.operands)
    }

    fn parse(line: &str) -> Result<Self> {
        let parse = || -> Option<Result<Self>> {
            let (name, circuit) = line.split_once(" : ")?;
            let (gates, outputs) = circuit.split_once(" = ")?;
            let mut name = name.split(' ');
            let cipher = name.next()?;
            Some(Ok(Self {
                cipher: boxes::CIPHERS.iter().find(|one| one.name == cipher)?,
                number: name.next()?.parse().ok()?,
                operands: name.next()?.parse().ok()?,
                gates: match gates.split(' ').map(str::parse).collect() {
                    Ok(gates) => gates,
                    Err(error) => return Some(Err(error)),
                },
                outputs: outputs
                    .split(' ')
                    .map(|output| output.parse().ok())
                    .collect::<Option<_>>()?,
            }))
        };
        let found = parse().unwrap_or_else(|| Err("not a circuit".to_owned()));
        let found = found.map_err(|error| format!("{FOUND}: {error}: {line}"))?;
        found.verify()?;
        Ok(found)
    }

    /// Compares the circuit with the table, for all inputs at once.
    fn verify(&self) -> Result<()> {
        let s_box = self.s_box();
        let mut values = s_box.inputs.clone();
        for gate in &self.gates {
            let is_before = |operand: &usize| *operand < values.len();
            let fits = match gate {
                Gate::LookUp(..) => self.operands == 3,
                _ => self.operands == 2,
            };
            if !fits || !gate.operands().iter().all(is_before) {
                return Err(format!("{}: {gate} cannot stand there", self.name()));
            }
            values.push(gate.of(&values));
        }
        let is_right = |(output, wanted): (&usize, &u64)| {
            let value = values.get(*output);
            value.is_some_and(|value| (value ^ wanted) & s_box.mask == 0)
        };
        let mut outputs = self.outputs.iter().zip(&s_box.outputs);
        if self.outputs.len() == s_box.outputs.len() && outputs.all(is_right) {
            Ok(())
        } else {
            Err(format!("{}: not the S-box", self.name()))
        }
    }

    fn write(&self, text: &mut String) {
        let names = |numbers: &[usize]| {
            let names: Vec<_> = numbers.iter().map(|number| format!("x{number}")).collect();
            names.join(", ")
        };
        let inputs = self.s_box().inputs.len();
        let (visible, generic, word) = match self.operands {
            3 => ("super", String::new(), "Zmm"),
            _ => ("crate", format!("<P: {}>", self.cipher.plane), "P"),
        };
        let number = self.number + self.cipher.first_number;
        let outputs = self.outputs.len();
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "\n/// {} gates.\n#[inline(always)]\n\
             pub({visible}) fn s{number}{generic}(input: [{word}; {inputs}]) -> [{word}; {outputs}] {{\n    \
             let [{}] = input;\n",
            self.gates.len(),
            names(&(0..inputs).collect::<Vec<_>>()),
        );
        for (i, gate) in self.gates.iter().enumerate() {
            let _ = writeln!(text, "    let x{} = {};", inputs + i, gate.code());
        }
        let _ = write!(text, "    [{}]\n}}\n", names(&self.outputs));
    }
}

/// Returns the generated files.
fn generated(root: &Path) -> Result<Generated> {
    let text = files::read(&root.join(FOUND))?;
    let found: Vec<Found> = text.lines().map(Found::parse).collect::<Result<_>>()?;
    let mut files = Vec::new();
    for cipher in boxes::CIPHERS {
        for (operands, path, head) in [(2, cipher.gates, TWO), (3, cipher.ternary, THREE)] {
            let circuits = found
                .iter()
                .filter(|one| (one.cipher.name, one.operands) == (cipher.name, operands));
            let mut text = format!("//! The S-boxes of {}{head}", cipher.title);
            if operands == 2 {
                let _ = writeln!(text, "use super::registers::{};", cipher.plane);
            } else {
                text += "use super::Zmm;\n";
            }
            let mut numbers = 0..cipher.boxes();
            for circuit in circuits {
                if numbers.next() != Some(circuit.number) {
                    return Err(format!("{FOUND}: {} is out of order", circuit.name()));
                }
                circuit.write(&mut text);
            }
            if let Some(missing) = numbers.next() {
                return Err(format!("{FOUND}: no {} {missing} {operands}", cipher.name));
            }
            files.push((path.to_owned(), text));
        }
    }
    Ok(files)
}

const TWO: &str = " as circuits of gates with two operands.\n//!\n\
    //! Generated by `cargo xtask circuits`: not to be edited by hand.\n\n";
const THREE: &str = " as circuits of gates with three operands.\n//!\n\
    //! Generated by `cargo xtask circuits`: not to be edited by hand.\n\n";
const FOUND: &str = "xtask/src/circuits/found.txt";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_circuit_is_refused() {
        let text = include_str!("circuits/found.txt");
        let line = text.lines().next().unwrap();
        assert!(Found::parse(line).is_ok());
        let (gates, outputs) = line.split_once(" = ").unwrap();
        let swapped: Vec<&str> = outputs.split(' ').rev().collect();
        let error = Found::parse(&format!("{gates} = {}", swapped.join(" ")));
        assert!(error.err().unwrap().contains("not the S-box"));
        let beyond = line.replacen(" : ", " : 900^901 ", 1);
        let error = Found::parse(&beyond).err().unwrap();
        assert!(error.contains("cannot stand there"), "{error}");
    }
}
