//! Sixteen registers for a program in a given order.
//!
//! An instruction overwrites its first operand. A value that is needed again is copied before, which a CPU
//! does by renaming; where registers run out, the value whose next use is farthest away goes to the stack, and
//! from there it is an operand like any other.

use super::program::{Place, Program, Step, Value};

/// The text of `program`, whose steps stand in `order`, with inputs and outputs in registers 0 to 7.
pub fn allocate(program: &Program, order: &[Value], pointers: Pointers) -> Vec<String> {
    let mut uses = vec![Vec::new(); program.steps.len()];
    for (at, &value) in order.iter().enumerate().rev() {
        for operand in program.steps[value].operands() {
            uses[operand].push(at);
        }
    }
    for output in program.outputs {
        uses[output].insert(0, order.len());
    }
    let mut state = State {
        pointers,
        uses,
        lines: Vec::new(),
        registers: [const { None }; REGISTERS],
        slots: Vec::new(),
    };
    for input in 0..8 {
        state.registers[input] = Some(input);
    }
    for &value in order {
        state.step(value, program.steps[value]);
    }
    state.move_outputs(program.outputs);
    assert!(state.slots.len() <= SLOTS_MAX, "the frame has no more room");
    state.lines
}

/// The registers that point to frames and keys.
#[derive(Clone, Copy)]
pub struct Pointers {
    pub frame: &'static str,
    pub key: &'static str,
}

struct State {
    pointers: Pointers,
    /// The uses of each value, the last first.
    uses: Vec<Vec<usize>>,
    lines: Vec<String>,
    /// The values that they hold.
    registers: [Option<Value>; REGISTERS],
    slots: Vec<Option<Value>>,
}

impl State {
    fn step(&mut self, value: Value, step: Step) {
        for operand in step.operands() {
            self.uses[operand].pop();
        }
        let mut operands = step.operands();
        let (a, b) = (operands.next(), operands.next());
        let Some(a) = a else {
            unreachable!("an input is no step")
        };
        let (base, is_overwritten) = self.base(a, b);
        let register = if is_overwritten {
            self.register_of(base)
        } else {
            None
        };
        let register = register.unwrap_or_else(|| {
            let register = self.free_register(a, b);
            let line = format!("movdqa xmm{register}, {}", self.place(base));
            self.lines.push(line);
            register
        });
        self.registers[register] = None;
        let other = b.map(|b| self.place(if base == a { b } else { a }));
        let other = other.unwrap_or_default();
        self.lines.push(match step {
            Step::Input => unreachable!("an input is no step"),
            Step::Xor(..) => format!("pxor xmm{register}, {other}"),
            Step::And(..) => format!("pand xmm{register}, {other}"),
            Step::Shift(name, _, by) => format!("{name} xmm{register}, {by}"),
            Step::Memory(name, _, place) => {
                let place = match place {
                    Place::Frame(bytes) => at(self.pointers.frame, bytes),
                    Place::Key(bytes) => at(self.pointers.key, bytes),
                    Place::Constant(bytes) => at(CONSTANTS, bytes),
                };
                format!("{name} xmm{register}, {place}")
            }
        });
        for operand in [Some(a), b].into_iter().flatten() {
            if self.is_dead(operand) {
                let places = self.registers.iter_mut().chain(&mut self.slots);
                places
                    .filter(|place| **place == Some(operand))
                    .for_each(|place| *place = None);
            }
        }
        self.registers[register] = Some(value);
    }

    /// The operand that the result takes the place of, and whether it may be overwritten there.
    fn base(&self, a: Value, b: Option<Value>) -> (Value, bool) {
        let in_register = |value| self.register_of(value).is_some();
        let is_full = self.registers.iter().all(Option::is_some);
        let is_kept = |value| in_register(value) && self.slot_of(value).is_some();
        let is_spent = |value| in_register(value) && self.is_dead(value);
        let Some(b) = b else {
            return (a, is_spent(a) || is_full && is_kept(a));
        };
        if is_spent(a) {
            (a, true)
        } else if is_spent(b) {
            (b, true)
        } else if !in_register(b) && self.is_dead(b) && in_register(a) {
            (b, false)
        } else if !in_register(a) {
            (a, false)
        } else if !in_register(b) {
            (b, false)
        } else if is_full && is_kept(a) && (!is_kept(b) || self.next(a) > self.next(b)) {
            (a, true)
        } else if is_full && is_kept(b) {
            (b, true)
        } else if self.next(b) < self.next(a) {
            (b, false)
        } else {
            (a, false)
        }
    }

    /// One that holds nothing, if need be after a store of what it held.
    fn free_register(&mut self, a: Value, b: Option<Value>) -> usize {
        if let Some(free) = self.registers.iter().position(Option::is_none) {
            return free;
        }
        let held = self.registers.into_iter().flatten().enumerate();
        let farthest = held
            .filter(|(_, value)| *value != a && Some(*value) != b)
            .max_by_key(|(_, value)| (self.next(*value), self.slot_of(*value).is_some()));
        let Some((register, value)) = farthest else {
            unreachable!("a step has two operands at most")
        };
        if self.slot_of(value).is_none() {
            let free = self.slots.iter().position(Option::is_none);
            let slot = free.unwrap_or_else(|| {
                self.slots.push(None);
                self.slots.len() - 1
            });
            self.slots[slot] = Some(value);
            let line = format!("movdqa {}, xmm{register}", at(STACK, 16 * slot));
            self.lines.push(line);
        }
        self.registers[register] = None;
        register
    }

    fn move_outputs(&mut self, outputs: [Value; 8]) {
        let mut left: Vec<_> = outputs.into_iter().enumerate().collect();
        while !left.is_empty() {
            let is_wanted =
                |held: Option<Value>| left.iter().any(|(_, value)| Some(*value) == held);
            let ready = left.iter().position(|(register, value)| {
                let held = self.registers[*register];
                held == Some(*value) || !is_wanted(held)
            });
            let (register, value) = match ready {
                Some(ready) => left.remove(ready),
                // They wait for each other, so one goes away.
                None => {
                    let free = self.registers.iter().position(|held| !is_wanted(*held));
                    let Some(free) = free else {
                        unreachable!("eight are wanted")
                    };
                    (free, left[0].1)
                }
            };
            if self.registers[register] != Some(value) {
                let line = format!("movdqa xmm{register}, {}", self.place(value));
                self.lines.push(line);
                if let Some(old) = self.register_of(value) {
                    self.registers[old] = None;
                }
                self.registers[register] = Some(value);
            }
        }
    }

    fn is_dead(&self, value: Value) -> bool {
        self.uses[value].is_empty()
    }

    fn next(&self, value: Value) -> usize {
        self.uses[value].last().copied().unwrap_or(usize::MAX)
    }

    fn register_of(&self, value: Value) -> Option<usize> {
        self.registers.iter().position(|held| *held == Some(value))
    }

    fn slot_of(&self, value: Value) -> Option<usize> {
        self.slots.iter().position(|held| *held == Some(value))
    }

    fn place(&self, value: Value) -> String {
        match (self.register_of(value), self.slot_of(value)) {
            (Some(register), _) => format!("xmm{register}"),
            (None, Some(slot)) => at(STACK, 16 * slot),
            (None, None) => unreachable!("a value that is used lies somewhere"),
        }
    }
}

/// An operand in memory.
pub fn at(pointer: &str, bytes: usize) -> String {
    match bytes {
        0 => format!("xmmword ptr [{pointer}]"),
        _ => format!("xmmword ptr [{pointer} + {bytes}]"),
    }
}

/// As in `Frame` of crates/kernels/src/x86_64/bitslice_ssse3/mod.rs.
const SLOTS_MAX: usize = 16;
const REGISTERS: usize = 16;
const STACK: &str = "rdi";
const CONSTANTS: &str = "r9";
