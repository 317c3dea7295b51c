//! Straight-line programs on planes of bits: the parts of AES.

use super::circuits::{BOTTOM, Gates, INVERSE_BOTTOM, INVERSE_TOP, INVERSE_TOP_AT};

/// A value, by the number of the step that makes it.
pub type Value = usize;

/// What makes a value: of one value and memory, or of two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Input,
    Xor(Value, Value),
    And(Value, Value),
    /// An instruction, and where its other operand lies.
    Memory(&'static str, Value, Place),
    Shift(&'static str, Value, u32),
}

/// Bytes from a pointer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// To how the round works on states that are not shifted.
    Frame(usize),
    /// To the planes of the round's key.
    Key(usize),
    Constant(usize),
}

impl Step {
    pub fn operands(self) -> impl Iterator<Item = Value> {
        let both = match self {
            Self::Input => [None, None],
            Self::Xor(a, b) | Self::And(a, b) => [Some(a), Some(b)],
            Self::Memory(_, a, _) | Self::Shift(_, a, _) => [Some(a), None],
        };
        both.into_iter().flatten()
    }
}

/// Takes eight planes and gives eight.
pub struct Program {
    pub steps: Vec<Step>,
    pub outputs: [Value; 8],
}

impl Program {
    /// Blocks to planes, and the first key.
    pub fn first() -> Self {
        Self::new(|program, blocks| {
            let planes = program.transpose(blocks);
            program.add_key(planes)
        })
    }

    /// SubBytes, MixColumns, AddRoundKey.
    pub fn round() -> Self {
        Self::new(|program, planes| {
            let planes = program.sub_bytes(planes);
            program.mix_columns(planes)
        })
    }

    /// SubBytes, AddRoundKey, all ShiftRows that were left out, planes to blocks.
    pub fn last() -> Self {
        Self::new(|program, planes| {
            let planes = program.sub_bytes(planes);
            program.end(planes)
        })
    }

    pub fn inverse_round() -> Self {
        Self::new(|program, planes| {
            let planes = program.inverse_sub_bytes(planes);
            program.inverse_mix_columns(planes)
        })
    }

    pub fn inverse_last() -> Self {
        Self::new(|program, planes| {
            let planes = program.inverse_sub_bytes(planes);
            program.end(planes)
        })
    }

    fn new(body: impl FnOnce(&mut Self, [Value; 8]) -> [Value; 8]) -> Self {
        let mut program = Self {
            steps: vec![Step::Input; 8],
            outputs: [0; 8],
        };
        let inputs = std::array::from_fn(|i| i);
        program.outputs = body(&mut program, inputs);
        program
    }

    fn step(&mut self, step: Step) -> Value {
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn xor(&mut self, a: Value, b: Value) -> Value {
        self.step(Step::Xor(a, b))
    }

    fn end(&mut self, planes: [Value; 8]) -> [Value; 8] {
        let planes = self.add_key(planes);
        let planes = self.shuffle(planes, SHIFT_ROWS);
        self.transpose(planes)
    }

    /// As `transpose` of crates/kernels/src/x86_64/bitslice.rs.
    fn transpose(&mut self, mut x: [Value; 8]) -> [Value; 8] {
        for i in [0, 2, 4, 6] {
            (x[i], x[i + 1]) = self.swap(x[i], x[i + 1], 1, 0);
        }
        for i in [0, 1, 4, 5] {
            (x[i], x[i + 2]) = self.swap(x[i], x[i + 2], 2, 16);
        }
        for i in [0, 1, 2, 3] {
            (x[i], x[i + 4]) = self.swap(x[i], x[i + 4], 4, 32);
        }
        x
    }

    fn swap(&mut self, low: Value, high: Value, by: u32, mask: usize) -> (Value, Value) {
        let change = self.step(Step::Shift("psrlq", low, by));
        let change = self.xor(change, high);
        let change = self.step(Step::Memory("pand", change, Place::Constant(mask)));
        let high = self.xor(high, change);
        let change = self.step(Step::Shift("psllq", change, by));
        (self.xor(low, change), high)
    }

    fn add_key(&mut self, mut planes: [Value; 8]) -> [Value; 8] {
        for (i, plane) in planes.iter_mut().enumerate() {
            *plane = self.step(Step::Memory("pxor", *plane, Place::Key(16 * i)));
        }
        planes
    }

    fn shuffle(&mut self, planes: [Value; 8], from: usize) -> [Value; 8] {
        planes.map(|plane| self.step(Step::Memory("pshufb", plane, Place::Frame(from))))
    }

    fn add(&mut self, x: [Value; 8], y: [Value; 8]) -> [Value; 8] {
        std::array::from_fn(|i| self.xor(x[i], y[i]))
    }

    /// With a the byte and b, c, d those below it, 02 (a + b) + b + c + d; and the round's key.
    fn mix_columns(&mut self, planes: [Value; 8]) -> [Value; 8] {
        let below = self.shuffle(planes, ONE_BELOW);
        let sum = self.add(planes, below);
        let second = self.shuffle(sum, TWO_BELOW);
        let rest = self.add_key(below);
        let mut mixed = rest;
        for (i, mixed) in mixed.iter_mut().enumerate() {
            let rest = self.xor(rest[i], second[i]);
            *mixed = self.xor(rest, sum[(i + 7) % 8]);
        }
        for i in [1, 3, 4] {
            mixed[i] = self.xor(mixed[i], sum[7]);
        }
        mixed
    }

    /// MixColumns after each column times 04 x^2 + 05.
    fn inverse_mix_columns(&mut self, planes: [Value; 8]) -> [Value; 8] {
        let second = self.shuffle(planes, TWO_BELOW);
        let sum = self.add(planes, second);
        let twice = self.double(sum);
        let four_times = self.double(twice);
        let planes = self.add(planes, four_times);
        self.mix_columns(planes)
    }

    fn double(&mut self, x: [Value; 8]) -> [Value; 8] {
        let [one, three, four] = [0, 2, 3].map(|i| self.xor(x[i], x[7]));
        [x[7], one, x[1], three, four, x[4], x[5], x[6]]
    }

    fn sub_bytes(&mut self, planes: [Value; 8]) -> [Value; 8] {
        let y = self.top(planes);
        let z = self.middle(y);
        self.bottom(z, BOTTOM)
    }

    fn inverse_sub_bytes(&mut self, planes: [Value; 8]) -> [Value; 8] {
        let mut values = planes.to_vec();
        for &(a, b) in INVERSE_TOP {
            values.push(self.xor(values[a], values[b]));
        }
        let z = self.middle(INVERSE_TOP_AT.map(|at| values[at]));
        self.bottom(z, INVERSE_BOTTOM)
    }

    /// The linear map at the start of the S-box, as in crates/kernels/src/sbox.rs.
    fn top(&mut self, [x7, x6, x5, x4, x3, x2, x1, x0]: [Value; 8]) -> [Value; 22] {
        let mut xor = |a, b| self.xor(a, b);
        let y14 = xor(x3, x5);
        let y13 = xor(x0, x6);
        let y9 = xor(x0, x3);
        let y8 = xor(x0, x5);
        let t0 = xor(x1, x2);
        let y1 = xor(t0, x7);
        let y4 = xor(y1, x3);
        let y12 = xor(y13, y14);
        let y2 = xor(y1, x0);
        let y5 = xor(y1, x6);
        let y3 = xor(y5, y8);
        let t1 = xor(x4, y12);
        let y15 = xor(t1, x5);
        let y20 = xor(t1, x1);
        let y6 = xor(y15, x7);
        let y10 = xor(y15, t0);
        let y11 = xor(y20, y9);
        let y7 = xor(x7, y11);
        let y17 = xor(y10, y11);
        let y19 = xor(y10, y8);
        let y16 = xor(t0, y11);
        let y21 = xor(y13, y16);
        let y18 = xor(x0, y16);
        [
            y14, y13, y9, y8, y1, y4, y12, y2, y5, y3, y15, y20, y6, y10, y11, y7, y17, y19, y16,
            y21, y18, x7,
        ]
    }

    /// The nonlinear middle of the S-box, as in the same file.
    fn middle(&mut self, y: [Value; 22]) -> [Value; 18] {
        #[rustfmt::skip]
        let [
            y14, y13, y9, y8, y1, y4, y12, y2, y5, y3, y15, y20, y6, y10, y11, y7, y17, y19, y16, y21, y18, x7,
        ] = y;
        macro_rules! xor {
            ($a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                self.step(Step::Xor(a, b))
            }};
        }
        macro_rules! and {
            ($a:expr, $b:expr) => {{
                let (a, b) = ($a, $b);
                self.step(Step::And(a, b))
            }};
        }
        let t2 = and!(y12, y15);
        let t4 = xor!(and!(y3, y6), t2);
        let t6 = xor!(and!(y4, x7), t2);
        let t7 = and!(y13, y16);
        let t9 = xor!(and!(y5, y1), t7);
        let t11 = xor!(and!(y2, y7), t7);
        let t12 = and!(y9, y11);
        let t14 = xor!(and!(y14, y17), t12);
        let t16 = xor!(and!(y8, y10), t12);
        let t21 = xor!(xor!(t4, t14), y20);
        let t22 = xor!(xor!(t6, t16), y19);
        let t23 = xor!(xor!(t9, t14), y21);
        let t24 = xor!(xor!(t11, t16), y18);

        let t25 = xor!(t21, t22);
        let t26 = and!(t21, t23);
        let t27 = xor!(t24, t26);
        let t29 = xor!(and!(t25, t27), t22);
        let t30 = xor!(t23, t24);
        let t31 = xor!(t22, t26);
        let t33 = xor!(and!(t31, t30), t24);
        let t34 = xor!(t23, t33);
        let t35 = xor!(t27, t33);
        let t36 = and!(t24, t35);
        let t37 = xor!(t36, t34);
        let t38 = xor!(t27, t36);
        let t40 = xor!(t25, and!(t29, t38));

        let t41 = xor!(t40, t37);
        let t42 = xor!(t29, t33);
        let t43 = xor!(t29, t40);
        let t44 = xor!(t33, t37);
        let t45 = xor!(t42, t41);
        let z0 = and!(t44, y15);
        let z1 = and!(t37, y6);
        let z2 = and!(t33, x7);
        let z3 = and!(t43, y16);
        let z4 = and!(t40, y1);
        let z5 = and!(t29, y7);
        let z6 = and!(t42, y11);
        let z7 = and!(t45, y17);
        let z8 = and!(t41, y10);
        let z9 = and!(t44, y12);
        let z10 = and!(t37, y3);
        let z11 = and!(t33, y4);
        let z12 = and!(t43, y13);
        let z13 = and!(t40, y5);
        let z14 = and!(t29, y2);
        let z15 = and!(t42, y9);
        let z16 = and!(t45, y14);
        let z17 = and!(t41, y8);
        [
            z0, z1, z2, z3, z4, z5, z6, z7, z8, z9, z10, z11, z12, z13, z14, z15, z16, z17,
        ]
    }

    /// The linear map at the end, backwards from the circuit of its transpose: what a gate adds up there
    /// goes to both of its operands here.
    fn bottom(&mut self, z: [Value; 18], Gates { gates, at }: Gates<'_>) -> [Value; 8] {
        let mut depths = Vec::new();
        for step in &self.steps {
            let above = step.operands().map(|operand| depths[operand] + 1);
            depths.push(above.max().unwrap_or(0));
        }
        let mut terms = vec![Vec::new(); 8 + gates.len()];
        for (z, &at) in z.into_iter().zip(at) {
            terms[at].push(z);
        }
        for (i, &(a, b)) in gates.iter().enumerate().rev() {
            let terms_here = std::mem::take(&mut terms[8 + i]);
            let sum = self.sum(terms_here, &mut depths);
            terms[a].push(sum);
            terms[b].push(sum);
        }
        std::array::from_fn(|i| self.sum(std::mem::take(&mut terms[i]), &mut depths))
    }

    /// The two that are there first are added first.
    fn sum(&mut self, mut terms: Vec<Value>, depths: &mut Vec<usize>) -> Value {
        loop {
            terms.sort_by_key(|term| std::cmp::Reverse(depths[*term]));
            match (terms.pop(), terms.pop()) {
                (Some(a), Some(b)) => {
                    terms.push(self.xor(a, b));
                    depths.push(1 + depths[a].max(depths[b]));
                }
                (Some(sum), None) => return sum,
                (None, _) => unreachable!("every gate of the circuits has a use"),
            }
        }
    }
}

const ONE_BELOW: usize = 0;
const TWO_BELOW: usize = 16;
const SHIFT_ROWS: usize = 32;
