//! Poly1305 in two chains, one for each half of the bytes, on the integer units: next to the rounds of ChaCha20, or alone.

use super::assembly::{Assembly, emit};
use super::chacha20::{JOIN, LEFT, MAC, MAC_FROM, R0, R1, R1_BY_5_4, STEPS, quad};

/// Two chains: the registers of their sums, and how they are computed.
#[derive(Clone, Copy)]
pub struct Chains {
    pub one: [&'static str; 3],
    pub other: [&'static str; 3],
    /// Absorbs the block at an offset from a register into a chain: h = (h + block + 2^128) r, `Element::step` of
    /// crates/kernels/src/poly1305.rs.
    pub step: fn(&mut Assembly, from: &str, offset: usize, chain: [&str; 3]),
    /// Computes the product of the first chain and a power of r.
    times: fn(&mut Assembly),
    /// The product's digits, the lowest first. Only the last register of the chain must be another one.
    product: [&'static str; 5],
    /// Two registers that [`carry`] may use after that.
    free: [&'static str; 2],
}

/// For CPUs with `mulx`. Products need r12 to r15, rbp and rdx.
pub const MULX: Chains = Chains {
    one: ["r8", "r9", "r10"],
    other: ["r11", "rax", "rbx"],
    step: step_mulx,
    times: times_mulx,
    product: ["r12", "r13", "r14", "rbp", "r9"],
    free: ["r12", "r13"],
};

/// With `mul`, whose factor and product are in rax and rdx. Products also need r12 to r15 and, in `join`, rcx.
pub const MUL: Chains = Chains {
    one: ["r8", "r9", "r10"],
    other: ["r11", "rbx", "rbp"],
    step: step_mul,
    times: times_mul,
    product: ["r12", "r13", "r14", "r15", "rcx"],
    free: ["rax", "rdx"],
};

/// Pointers to the bytes that each chain absorbs next.
pub const FIRST: &str = "rsi";
pub const SECOND: &str = "rcx";

/// Returns a function that authenticates without a cipher. Its halves have `STEPS` times 32 bytes; the frame is that of
/// ChaCha20.
pub fn mac(chains: Chains) -> String {
    let mut text = Assembly::default();
    text.save_registers();
    chains.begin(&mut text);
    let (steps, left) = (quad(STEPS), quad(LEFT));
    emit!(text; "
        mov {SECOND}, {steps}
        mov {left}, {SECOND}
        shl {SECOND}, 5
        add {SECOND}, {FIRST}
    ");
    text.count_down(&left, 2, |text| chains.two_steps(text));
    // With `mul`, this uses the register of the second half, which has been absorbed.
    chains.join(&mut text);
    chains.end(&mut text);
    text.restore_registers();
    text.end_without_vectors()
}

impl Chains {
    /// Loads the first chain and its pointer; the second begins with zero.
    pub fn begin(self, text: &mut Assembly) {
        emit!(text; "mov {FIRST}, {}", quad(MAC_FROM));
        for (i, register) in self.one.into_iter().enumerate() {
            emit!(text; "mov {register}, {}", quad(MAC + 8 * i as i32));
        }
        self.clear_other(text);
    }

    fn clear_other(self, text: &mut Assembly) {
        for register in self.other {
            emit!(text; "xor {register}, {register}");
        }
    }

    /// Absorbs 32 bytes of each half.
    pub fn two_steps(self, text: &mut Assembly) {
        for block in 0..2 {
            (self.step)(text, FIRST, 16 * block, self.one);
            (self.step)(text, SECOND, 16 * block, self.other);
        }
        emit!(text; "
            add {FIRST}, 32
            add {SECOND}, 32
        ");
    }

    /// Multiplies the first chain by a power of r and adds the second, which restarts at zero: `Element::times` and `plus`.
    pub fn join(self, text: &mut Assembly) {
        (self.times)(text);
        let [p0, p1, p2, p3, p4] = self.product;
        let ([a0, a1, a2], [b0, b1, b2]) = (self.one, self.other);
        // Bits of 2^130 and above count five times below: four times and once.
        emit!(text; "
            mov {a2}, {p2}
            and {a2}, 3
            and {p2}, -4
            add {p0}, {b0}
            adc {p1}, {b1}
            adc {a2}, {b2}
            add {p0}, {p2}
            adc {p1}, {p3}
            adc {a2}, {p4}
            shrd {p2}, {p3}, 2
            shrd {p3}, {p4}, 2
            shr {p4}, 2
            add {p0}, {p2}
            adc {p1}, {p3}
            adc {a2}, {p4}
            mov {a0}, {p0}
            mov {a1}, {p1}
        ");
        carry(text, self.one, self.free);
        self.clear_other(text);
    }

    /// Stores the first chain.
    pub fn end(self, text: &mut Assembly) {
        for (i, register) in self.one.into_iter().enumerate() {
            emit!(text; "mov {}, {register}", quad(MAC + 8 * i as i32));
        }
    }
}

fn step_mulx(text: &mut Assembly, from: &str, offset: usize, [h0, h1, h2]: [&str; 3]) {
    let [t1, t2, t3, t4, t5] = ["r12", "r13", "r14", "r15", "rbp"];
    let (r0, r1, s1) = (quad(R0), quad(R1), quad(R1_BY_5_4));
    let high = offset + 8;
    emit!(text; "
        add {h0}, [{from} + {offset}]
        adc {h1}, [{from} + {high}]
        adc {h2}, 1
        mov rdx, {h0}
        mulx {t1}, {h0}, {r0}
        mulx {t3}, {t2}, {r1}
        mov rdx, {h1}
        mulx {t5}, {t4}, {s1}
        add {h0}, {t4}
        adc {t1}, {t5}
        mulx {t5}, {h1}, {r0}
        add {h1}, {t2}
        adc {t5}, {t3}
        mov {t4}, {s1}
        imul {t4}, {h2}
        imul {h2}, {r0}
        add {h1}, {t4}
        adc {h2}, {t5}
        add {h1}, {t1}
        adc {h2}, 0
    ");
    carry(text, [h0, h1, h2], [t4, t5]);
}

fn step_mul(text: &mut Assembly, from: &str, offset: usize, [h0, h1, h2]: [&str; 3]) {
    let [t0, t1, t2] = ["r12", "r13", "r14"];
    let (r0, r1, s1) = (quad(R0), quad(R1), quad(R1_BY_5_4));
    let high = offset + 8;
    emit!(text; "
        add {h0}, [{from} + {offset}]
        adc {h1}, [{from} + {high}]
        adc {h2}, 1
        mov rax, {r0}
        mul {h0}
        mov {t0}, rax
        mov rax, {r1}
        mov {t1}, rdx
        mul {h0}
        mov {t2}, rax
        mov rax, {s1}
        mov {h0}, rdx
        mul {h1}
        add {t0}, rax
        mov rax, {r0}
        adc {t1}, rdx
        mul {h1}
        mov {h1}, {s1}
        add {t2}, rax
        adc {h0}, rdx
        imul {h1}, {h2}
        imul {h2}, {r0}
        add {h1}, {t2}
        adc {h2}, {h0}
        mov {h0}, {t0}
        add {h1}, {t1}
        adc {h2}, 0
    ");
    carry(text, [h0, h1, h2], ["rax", "rdx"]);
}

/// Reduces: bits from 2^130 on are multiplied by five and added to the low ones.
fn carry(text: &mut Assembly, [h0, h1, h2]: [&str; 3], [t, u]: [&str; 2]) {
    emit!(text; "
        mov {t}, {h2}
        mov {u}, {h2}
        and {t}, -4
        shr {u}, 2
        and {h2}, 3
        add {t}, {u}
        add {h0}, {t}
        adc {h1}, 0
        adc {h2}, 0
    ");
}

fn times_mulx(text: &mut Assembly) {
    let ([a0, a1, a2], [p0, p1, p2, p3, p4]) = (MULX.one, MULX.product);
    let (t, u) = ("r15", a0);
    let [j0, j1, j2] = [0, 8, 16].map(|i| quad(JOIN + i));
    emit!(text; "
        mov rdx, {a0}
        mulx {p1}, {p0}, {j0}
        mulx {p2}, {t}, {j1}
        add {p1}, {t}
        mulx {p3}, {t}, {j2}
        adc {p2}, {t}
        adc {p3}, 0
        mov rdx, {a1}
        mulx {u}, {t}, {j0}
        add {p1}, {t}
        adc {p2}, {u}
        adc {p3}, 0
        mulx {u}, {t}, {j1}
        mov {p4}, 0
        add {p2}, {t}
        adc {p3}, {u}
        adc {p4}, 0
        mulx {u}, {t}, {j2}
        add {p3}, {t}
        adc {p4}, {u}
        mov rdx, {a2}
        mulx {u}, {t}, {j0}
        add {p2}, {t}
        adc {p3}, {u}
        adc {p4}, 0
        mulx {u}, {t}, {j1}
        add {p3}, {t}
        adc {p4}, {u}
        imul rdx, {j2}
        add {p4}, rdx
    ");
}

fn times_mul(text: &mut Assembly) {
    let ([a0, a1, a2], [p0, p1, p2, p3, p4]) = (MUL.one, MUL.product);
    let [j0, j1, j2] = [0, 8, 16].map(|i| quad(JOIN + i));
    emit!(text; "
        mov rax, {a0}
        mul {j0}
        mov {p0}, rax
        mov {p1}, rdx
        mov rax, {a0}
        mul {j1}
        mov {p2}, rdx
        add {p1}, rax
        adc {p2}, 0
        mov rax, {a0}
        mul {j2}
        mov {p3}, rdx
        add {p2}, rax
        adc {p3}, 0
        xor {p4}, {p4}
        mov rax, {a1}
        mul {j0}
        add {p1}, rax
        adc {p2}, rdx
        adc {p3}, 0
        adc {p4}, 0
        mov rax, {a1}
        mul {j1}
        add {p2}, rax
        adc {p3}, rdx
        adc {p4}, 0
        mov rax, {a1}
        mul {j2}
        add {p3}, rax
        adc {p4}, rdx
        mov rax, {a2}
        mul {j0}
        add {p2}, rax
        adc {p3}, rdx
        adc {p4}, 0
        mov rax, {a2}
        mul {j1}
        add {p3}, rax
        adc {p4}, rdx
        mov rax, {a2}
        imul rax, {j2}
        add {p4}, rax
    ");
}
