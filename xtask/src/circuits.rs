//! `cargo xtask circuits`: writes the S-boxes of Triple DES and Serpent as bitsliced code.
//!
//! A circuit is a list of gates, each of earlier values: two operands for most instruction sets, three for `vpternlogq`.
//! `found.txt` has the smallest circuits that [`search`] has found; `cargo xtask circuits --search SECONDS` continues the
//! search and stores smaller ones there. Every circuit is compared with the table of its standard, for all inputs, before it
//! becomes code.

mod boxes;
mod gate;
mod search;

use std::fmt::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use self::boxes::{Cipher, SBox};
use self::gate::Gate;
use crate::tool::{Metadata, Result};

/// Writes the code.
pub fn run() -> Result<()> {
    let root = Metadata::load()?.workspace_root;
    for (path, text) in files(&found(&root)?)? {
        write(&root.join(path), &text)?;
    }
    Ok(())
}

/// Fails unless the code is what this program would write.
pub fn check(root: &Path) -> Result<()> {
    for (path, text) in files(&found(root)?)? {
        if read(&root.join(path))? != text {
            return Err(format!(
                "{path} is not as `cargo xtask circuits` writes it: run that, or undo what was edited"
            ));
        }
    }
    Ok(())
}

/// `--search`: searches for smaller circuits, for `seconds` each, and stores them.
pub fn improve(seconds: &str) -> Result<()> {
    let seconds = seconds
        .parse()
        .map_err(|error| format!("{seconds:?} is no number of seconds: {error}"))?;
    let root = Metadata::load()?.workspace_root;
    let known = found(&root)?;
    let mut circuits = Vec::new();
    for cipher in boxes::CIPHERS {
        for (operands, number) in [2, 3]
            .into_iter()
            .flat_map(|operands| (0..cipher.boxes()).map(move |number| (operands, number)))
        {
            let circuit = known.iter().find(|one| {
                (one.cipher.name, one.number, one.operands) == (cipher.name, number, operands)
            });
            let before = circuit.map_or(GATES_MAX, |one| one.gates.len());
            let time = Duration::from_secs(seconds);
            let smaller = search::smaller(cipher.s_box(number), operands, before, 0, time);
            let (gates, outputs) = match (smaller, circuit) {
                (Some(one), _) => (one.gates, one.outputs),
                (None, Some(one)) => (one.gates.clone(), one.outputs.clone()),
                (None, None) => return Err("found no circuit: search for longer".to_owned()),
            };
            let circuit = Found {
                cipher,
                number,
                operands,
                gates,
                outputs,
            };
            println!("{}: {} gates", circuit.name(), circuit.gates.len());
            circuits.push(circuit);
        }
    }
    let lines: Vec<String> = circuits.iter().map(Found::to_string).collect();
    write(&root.join(FOUND), &(lines.join("\n") + "\n"))?;
    run()
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
        let plane = if self.operands == 3 {
            "Ternary"
        } else {
            self.cipher.plane
        };
        let number = self.number + self.cipher.first_number;
        let outputs = self.outputs.len();
        // Writing to a `String` cannot fail.
        let _ = write!(
            text,
            "\n/// {} gates.\n#[inline(always)]\n\
             pub(crate) fn s{number}<P: {plane}>(input: [P; {inputs}]) -> [P; {outputs}] {{\n    \
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

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gates: Vec<_> = self.gates.iter().map(Gate::to_string).collect();
        let outputs: Vec<_> = self.outputs.iter().map(usize::to_string).collect();
        write!(
            f,
            "{} : {} = {}",
            self.name(),
            gates.join(" "),
            outputs.join(" ")
        )
    }
}

/// Reads all circuits.
fn found(root: &Path) -> Result<Vec<Found>> {
    read(&root.join(FOUND))?.lines().map(Found::parse).collect()
}

/// Returns the paths and texts of the generated files.
fn files(found: &[Found]) -> Result<Vec<(&'static str, String)>> {
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
                text += "use super::registers::Ternary;\n";
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
            files.push((path, text));
        }
    }
    Ok(files)
}

const TWO: &str = " as circuits of gates with two operands.\n//!\n\
    //! Generated by `cargo xtask circuits`: not to be edited by hand.\n\n";
const THREE: &str = " as circuits of gates with three operands.\n//!\n\
    //! Generated by `cargo xtask circuits`: not to be edited by hand.\n\n";
/// More gates than the first circuit of a box has.
const GATES_MAX: usize = 200;
const FOUND: &str = "xtask/src/circuits/found.txt";

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| format!("{}: {error}: run `cargo xtask circuits`", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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

    #[test]
    fn every_line_comes_out_as_it_was_read() {
        for line in include_str!("circuits/found.txt").lines() {
            assert_eq!(Found::parse(line).unwrap().to_string(), line);
        }
    }

    #[test]
    fn the_search_finds_an_s_box() {
        for operands in [2, 3] {
            let cipher = &boxes::CIPHERS[0];
            let s_box = cipher.s_box(3);
            let circuit =
                search::smaller(s_box, operands, 120, 119, Duration::from_secs(120)).unwrap();
            let found = Found {
                cipher,
                number: 3,
                operands,
                gates: circuit.gates,
                outputs: circuit.outputs,
            };
            found.verify().unwrap();
        }
    }
}
