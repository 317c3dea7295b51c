//! The search for small circuits: the recursive method of "Reducing the gate count of bitslice DES"
//! (Kwan, 2000), over a pool of gates that all outputs share.
//!
//! A function that one to three more gates on the pool can compute is done. Any other is divided by one of the inputs: its
//! value on one half of the rows does not matter for the other half, and one or two gates combine the halves. The input and
//! the kind of combination are tried in random order; the fewest gates win.

use std::time::{Duration, Instant};

use super::boxes::SBox;
use super::gate::Gate;

/// Gates, and the values that are outputs.
pub(super) struct Circuit {
    pub(super) gates: Vec<Gate>,
    pub(super) outputs: Vec<usize>,
}

/// Returns the smallest circuit of gates with `operands` operands that a search of length `time` finds; `None` unless it has
/// fewer than `gates` gates. A circuit of at most `enough` gates ends the search.
pub(super) fn smaller(
    s_box: SBox,
    operands: usize,
    gates: usize,
    enough: usize,
    time: Duration,
) -> Option<Circuit> {
    let end = Instant::now() + time;
    let mut best = None;
    let mut gates_max = gates.saturating_sub(1);
    let mut random = Random((gates as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    while gates_max >= enough && Instant::now() < end {
        let mut search = Search {
            inputs: s_box.inputs.len(),
            is_ternary: operands == 3,
            widths: WIDTHS[random.below(WIDTHS.len())],
            deadline: end.min(Instant::now() + ATTEMPT),
            random: Random(random.next()),
        };
        let mut order: Vec<_> = (0..s_box.outputs.len()).collect();
        random.shuffle(&mut order);
        // The gates that an output needs at least, and the gates that may turn out to be unused.
        let (each, slack) = if operands == 3 { (2, 6) } else { (4, 6) };
        let mut pool = Pool::of(&s_box);
        let mut outputs = vec![0; order.len()];
        let done = order.iter().enumerate().all(|(done, &output)| {
            let to_come = each * (order.len() - 1 - done);
            let values_max = (s_box.inputs.len() + gates_max + slack).saturating_sub(to_come);
            let target = Target {
                rows: s_box.outputs[output],
                mask: s_box.mask,
            };
            let found = search.make(&mut pool, target, values_max, 0);
            found.map(|value| outputs[output] = value).is_some()
        });
        if done {
            let circuit = pool.used(&outputs);
            if circuit.gates.len() <= gates_max {
                gates_max = circuit.gates.len() - 1;
                best = Some(circuit);
            }
        }
    }
    best
}

/// The number of ways that are tried at each depth.
const WIDTHS: [[usize; 7]; 4] = [
    [12, 8, 6, 4, 2, 1, 1],
    [20, 10, 4, 2, 2, 1, 1],
    [6, 6, 6, 6, 6, 6, 6],
    [4, 4, 3, 3, 2, 2, 2],
];

const ATTEMPT: Duration = Duration::from_secs(15);

/// With more values than this, there are too many combinations of five to try.
const VALUES_FOR_FIVE_MAX: usize = 36;

/// A function on the rows where its value matters.
#[derive(Clone, Copy)]
struct Target {
    rows: u64,
    mask: u64,
}

impl Target {
    fn is(self, value: u64) -> bool {
        (value ^ self.rows) & self.mask == 0
    }

    fn within(self, mask: u64) -> Self {
        Self {
            mask: self.mask & mask,
            ..self
        }
    }

    fn xor(self, value: u64) -> Self {
        Self {
            rows: self.rows ^ value,
            ..self
        }
    }

    /// Whether the function takes both values among these rows.
    fn is_mixed(self, rows: u64) -> bool {
        let rows = rows & self.mask;
        rows & self.rows != 0 && rows & !self.rows != 0
    }
}

#[derive(Clone)]
struct Pool {
    values: Vec<u64>,
    /// The gates of the values after the inputs.
    gates: Vec<Gate>,
}

impl Pool {
    fn of(s_box: &SBox) -> Self {
        Self {
            values: s_box.inputs.clone(),
            gates: Vec::new(),
        }
    }

    fn add(&mut self, gate: Gate) -> usize {
        let value = gate.of(&self.values);
        if let Some(known) = self.values.iter().position(|one| *one == value) {
            return known;
        }
        self.values.push(value);
        self.gates.push(gate);
        self.values.len() - 1
    }

    /// Returns the circuit without gates that no output needs.
    fn used(&self, outputs: &[usize]) -> Circuit {
        let inputs = self.values.len() - self.gates.len();
        let mut is_used = vec![false; self.values.len()];
        for output in outputs {
            is_used[*output] = true;
        }
        for (i, gate) in self.gates.iter().enumerate().rev() {
            if is_used[inputs + i] {
                for operand in gate.operands() {
                    is_used[operand] = true;
                }
            }
        }
        let mut names: Vec<_> = (0..inputs).collect();
        let mut gates = Vec::new();
        for (i, gate) in self.gates.iter().enumerate() {
            names.push(inputs + gates.len());
            if is_used[inputs + i] {
                gates.push(gate.renamed(&names));
            }
        }
        Circuit {
            gates,
            outputs: outputs.iter().map(|output| names[*output]).collect(),
        }
    }
}

struct Search {
    inputs: usize,
    is_ternary: bool,
    widths: [usize; 7],
    deadline: Instant,
    random: Random,
}

impl Search {
    /// Returns the number of a value that equals `target`, with at most `values_max` values in total. `divided` has a bit
    /// for every input that the rows were divided by.
    fn make(
        &mut self,
        pool: &mut Pool,
        target: Target,
        values_max: usize,
        divided: u32,
    ) -> Option<usize> {
        let few = if self.is_ternary {
            few_ternary(pool, target, values_max)
        } else {
            few_gates(pool, target, values_max)
        };
        if few.is_some() {
            return few;
        }
        // One gate more than `few` has tried.
        let least = if self.is_ternary { 2 } else { 3 };
        if pool.values.len() + least > values_max || Instant::now() > self.deadline {
            return None;
        }
        let forms = if self.is_ternary { 2 } else { 6 };
        let mut ways: Vec<_> = (0..self.inputs)
            .filter(|input| divided >> input & 1 == 0)
            .flat_map(|input| (0..forms).map(move |form| (input, form)))
            .collect();
        self.random.shuffle(&mut ways);
        ways.truncate(self.widths[divided.count_ones() as usize]);
        let mut values_max = values_max;
        let mut best = None;
        for (input, form) in ways {
            if pool.values.len() + least > values_max {
                break;
            }
            let mut trial = pool.clone();
            let divided = divided | 1 << input;
            let made = if self.is_ternary {
                self.multiplex(&mut trial, target, values_max, divided, (input, form == 1))
            } else {
                self.divide(&mut trial, target, values_max, divided, (input, form))
            };
            if let Some(value) = made
                && trial.values.len() <= values_max
            {
                values_max = trial.values.len() - 1;
                best = Some((trial, value));
            }
        }
        let (found, value) = best?;
        *pool = found;
        Some(value)
    }

    /// Computes one half of the rows, then the other, and a gate that selects.
    fn multiplex(
        &mut self,
        pool: &mut Pool,
        target: Target,
        values_max: usize,
        divided: u32,
        (input, low_first): (usize, bool),
    ) -> Option<usize> {
        let rows = pool.values[input];
        let mut half = |pool: &mut Pool, rows| {
            self.make(
                pool,
                target.within(rows),
                values_max.checked_sub(1)?,
                divided,
            )
        };
        let (high, low);
        if low_first {
            low = half(pool, !rows)?;
            high = half(pool, rows)?;
        } else {
            high = half(pool, rows)?;
            low = half(pool, !rows)?;
        }
        const CHOOSE: u8 = 0b1100_1010;
        Some(pool.add(Gate::LookUp(CHOOSE, input, high, low)))
    }

    /// Computes a function that is right on one half of the rows, and another that corrects the other half.
    fn divide(
        &mut self,
        pool: &mut Pool,
        target: Target,
        values_max: usize,
        divided: u32,
        (input, form): (usize, usize),
    ) -> Option<usize> {
        let rows = pool.values[input];
        let values_max = values_max.checked_sub(2)?;
        let mut make = |pool: &mut Pool, target| self.make(pool, target, values_max, divided);
        match form {
            // base ^ (input & mend), and the same with the input inverted.
            0 => {
                let base = make(pool, target.within(!rows))?;
                let change = target.xor(pool.values[base]).within(rows);
                let mend = make(pool, change)?;
                let mend = pool.add(Gate::And(input, mend));
                Some(pool.add(Gate::Xor(base, mend)))
            }
            1 => {
                let base = make(pool, target.within(rows))?;
                let change = target.xor(pool.values[base]).within(!rows);
                let mend = make(pool, change)?;
                let mend = pool.add(Gate::AndNot(mend, input));
                Some(pool.add(Gate::Xor(base, mend)))
            }
            // base ^ (input | mend): the base is inverted where the input is true.
            2 => {
                let base = make(pool, target.xor(u64::MAX).within(rows))?;
                let change = target.xor(pool.values[base]).within(!rows);
                let mend = make(pool, change)?;
                let mend = pool.add(Gate::Or(input, mend));
                Some(pool.add(Gate::Xor(base, mend)))
            }
            // base | (input & mend), and the same with the input inverted: the base may be anything where both mend and
            // target are true.
            3 | 4 => {
                let half = if form == 3 { rows } else { !rows };
                let mend = make(pool, target.within(half))?;
                let is_free = half & pool.values[mend] & target.rows;
                let base = make(pool, target.within(!is_free))?;
                let mend = pool.add(match form {
                    3 => Gate::And(input, mend),
                    _ => Gate::AndNot(mend, input),
                });
                Some(pool.add(Gate::Or(base, mend)))
            }
            // base & (input | mend).
            _ => {
                let mend = make(pool, target.within(!rows))?;
                let is_free = !rows & !pool.values[mend] & !target.rows;
                let base = make(pool, target.within(!is_free))?;
                let mend = pool.add(Gate::Or(input, mend));
                Some(pool.add(Gate::And(base, mend)))
            }
        }
    }
}

/// Finds `target` with at most three two-operand gates.
fn few_gates(pool: &mut Pool, target: Target, values_max: usize) -> Option<usize> {
    let count = pool.values.len();
    let known = |value: &u64| target.is(*value);
    if let Some(found) = pool.values.iter().rposition(known) {
        return Some(found);
    }
    if count + 1 > values_max {
        return None;
    }
    if let Some(found) = pool.values.iter().rposition(|value| target.is(!value)) {
        return Some(pool.add(Gate::Not(found)));
    }
    let mut pairs = Vec::with_capacity(5 * count * count / 2);
    for a in (1..count).rev() {
        for b in (0..a).rev() {
            for gate in gates_of(a, b) {
                let value = gate.of(&pool.values);
                if target.is(value) {
                    return Some(pool.add(gate));
                }
                pairs.push((value & target.mask, gate));
            }
        }
    }
    if count + 2 > values_max {
        return None;
    }
    let wanted = target.rows & target.mask;
    for &(pair, gate) in &pairs {
        // The gate that joins a third value determines what the value must be.
        let joined = |of: fn(usize, usize) -> Gate, fits: &dyn Fn(u64) -> bool| {
            let third = pool
                .values
                .iter()
                .position(|third| fits(third & target.mask));
            third.map(|third| of(count, third))
        };
        let mut second = joined(Gate::Xor, &|third| third == pair ^ wanted);
        if second.is_none() && wanted & !pair == 0 {
            second = joined(Gate::And, &|third| pair & third == wanted)
                .or_else(|| joined(Gate::AndNot, &|third| pair & !third == wanted));
        }
        if second.is_none() && pair & !wanted == 0 {
            second = joined(Gate::Or, &|third| pair | third == wanted);
        }
        if second.is_none() && pair & wanted == 0 {
            let third = pool
                .values
                .iter()
                .position(|third| third & target.mask & !pair == wanted);
            second = third.map(|third| Gate::AndNot(third, count));
        }
        if let Some(second) = second {
            // A new value, or the loops above would have found it.
            let place = pool.add(gate);
            let mut names: Vec<_> = (0..=count).collect();
            names[count] = place;
            return Some(pool.add(second.renamed(&names)));
        }
    }
    if count + 3 > values_max {
        return None;
    }
    two_pairs(pool, pairs, wanted, target.mask)
}

/// Finds `target` as a gate of two gates.
fn two_pairs(
    pool: &mut Pool,
    mut pairs: Vec<(u64, Gate)>,
    wanted: u64,
    mask: u64,
) -> Option<usize> {
    pairs.sort_unstable_by_key(|(value, _)| *value);
    pairs.dedup_by_key(|(value, _)| *value);
    let mut join = |first, second, of: fn(usize, usize) -> Gate| {
        let (first, second) = (pool.add(first), pool.add(second));
        Some(pool.add(of(first, second)))
    };
    for &(value, gate) in &pairs {
        if let Ok(other) = pairs.binary_search_by_key(&(value ^ wanted), |(value, _)| *value) {
            return join(gate, pairs[other].1, Gate::Xor);
        }
    }
    let below = |(value, _): &&(u64, Gate)| value & !wanted == 0 && *value != 0;
    let above = |(value, _): &&(u64, Gate)| wanted & !value == 0 && *value != mask;
    let below: Vec<_> = pairs.iter().filter(below).collect();
    let above: Vec<_> = pairs.iter().filter(above).collect();
    for (some, is_or) in [(below, true), (above, false)] {
        if some.len() > PAIRS_MAX {
            continue;
        }
        for (i, first) in some.iter().enumerate() {
            for second in &some[..i] {
                if is_or && first.0 | second.0 == wanted {
                    return join(first.1, second.1, Gate::Or);
                }
                if !is_or && first.0 & second.0 == wanted {
                    return join(first.1, second.1, Gate::And);
                }
            }
        }
    }
    None
}

/// The most values for which all pairs are tried.
const PAIRS_MAX: usize = 1500;

fn gates_of(a: usize, b: usize) -> [Gate; 5] {
    [
        Gate::And(a, b),
        Gate::Or(a, b),
        Gate::Xor(a, b),
        Gate::AndNot(a, b),
        Gate::AndNot(b, a),
    ]
}

/// Finds `target` with at most two three-operand gates.
fn few_ternary(pool: &mut Pool, target: Target, values_max: usize) -> Option<usize> {
    let values = pool.values.clone();
    let count = values.len();
    if let Some(found) = values.iter().rposition(|value| target.is(*value)) {
        return Some(found);
    }
    if count + 1 > values_max {
        return None;
    }
    for a in (2..count).rev() {
        for b in (1..a).rev() {
            for c in (0..b).rev() {
                let operands = [a, b, c].map(|value| values[value]);
                let is_mixed = |row| target.is_mixed(cell(&operands, row));
                if !(0..8).any(is_mixed) {
                    let is_set =
                        |row: &usize| cell(&operands, *row) & target.mask & target.rows != 0;
                    let table = (0..8).filter(is_set).fold(0, |table, row| table | 1 << row);
                    return Some(pool.add(Gate::LookUp(table, a, b, c)));
                }
            }
        }
    }
    if count + 2 > values_max || count > VALUES_FOR_FIVE_MAX {
        return None;
    }
    for a in 0..count {
        for b in 0..a {
            for c in 0..b {
                let three = [a, b, c].map(|value| values[value]);
                let mixed: Vec<_> = (0..8).map(|row| cell(&three, row)).collect();
                for d in 0..c {
                    let halves = |rows: &u64| [rows & !values[d], rows & values[d]];
                    let mixed: Vec<_> = mixed
                        .iter()
                        .flat_map(halves)
                        .filter(|rows| target.is_mixed(*rows))
                        .collect();
                    for (e, value) in values.iter().enumerate().take(d) {
                        let is_mixed = |rows: &u64| {
                            target.is_mixed(rows & value) || target.is_mixed(rows & !value)
                        };
                        if !mixed.iter().any(is_mixed)
                            && let Some(found) = two_ternary(pool, target, [a, b, c, d, e])
                        {
                            return Some(found);
                        }
                    }
                }
            }
        }
    }
    None
}

/// Returns the rows in which the operands have the bits of `row`, the first operand the highest.
fn cell(operands: &[u64], row: usize) -> u64 {
    let bits = operands.iter().rev().enumerate();
    bits.fold(u64::MAX, |rows, (i, operand)| {
        rows & if row >> i & 1 == 1 {
            *operand
        } else {
            !operand
        }
    })
}

/// Finds `target`, a function of five values, as a gate of three of them followed by one of that gate and the other two.
fn two_ternary(pool: &mut Pool, target: Target, five: [usize; 5]) -> Option<usize> {
    for x in 0..5 {
        for y in 0..x {
            let outer = [five[x], five[y]];
            let inner: Vec<_> = (0..5)
                .filter(|i| *i != x && *i != y)
                .map(|i| five[i])
                .collect();
            let outer_values = outer.map(|value| pool.values[value]);
            let inner_values: Vec<_> = inner.iter().map(|value| pool.values[*value]).collect();
            // For every value of the inner three: the values of the outer two for which the target is true, and those for
            // which it is false.
            let needs: Vec<[u8; 2]> = (0..8)
                .map(|row| {
                    let rows = cell(&inner_values, row) & target.mask;
                    let mut need = [0; 2];
                    for outer in 0..4 {
                        let rows = rows & cell(&outer_values, outer);
                        need[0] |= u8::from(rows & target.rows != 0) << outer;
                        need[1] |= u8::from(rows & !target.rows != 0) << outer;
                    }
                    need
                })
                .collect();
            let Some(inner_table) = two_classes(&needs) else {
                continue;
            };
            let mut outer_table = 0;
            let mut is_right = true;
            for class in 0..2 {
                let members = (0..8).filter(|row| inner_table >> row & 1 == class);
                let [ones, zeros] = members.fold([0; 2], |[ones, zeros], row| {
                    [ones | needs[row][0], zeros | needs[row][1]]
                });
                is_right &= ones & zeros == 0;
                outer_table |= ones << (4 * class);
            }
            if is_right {
                let inner = pool.add(Gate::LookUp(inner_table, inner[0], inner[1], inner[2]));
                return Some(pool.add(Gate::LookUp(outer_table, inner, outer[0], outer[1])));
            }
        }
    }
    None
}

/// Splits the eight into two classes without contradictions within a class. Returns the second class as a bit mask.
fn two_classes(needs: &[[u8; 2]]) -> Option<u8> {
    let differ =
        |a: usize, b: usize| needs[a][0] & needs[b][1] != 0 || needs[a][1] & needs[b][0] != 0;
    let mut class = [None; 8];
    for start in 0..8 {
        if class[start].is_some() {
            continue;
        }
        class[start] = Some(false);
        let mut to_visit = vec![start];
        while let Some(a) = to_visit.pop() {
            for b in (0..8).filter(|b| differ(a, *b)) {
                if class[b].is_none() {
                    class[b] = class[a].map(|class| !class);
                    to_visit.push(b);
                } else if class[b] == class[a] {
                    return None;
                }
            }
        }
    }
    let second = (0..8).filter(|i| class[*i] == Some(true));
    Some(second.fold(0, |table, i| table | 1 << i))
}

/// A generator of the same numbers in every run (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 32) as usize * bound) >> 32
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let other = self.below(i + 1);
            items.swap(i, other);
        }
    }
}
