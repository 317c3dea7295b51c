//! The S-box of AES (FIPS 197, section 5.1.1) as a circuit, for code that computes on bits.

#[cfg(debug_assertions)]
use crate::portable::aes::transpose;

/// A vector over the field of two elements: bits that are worked on side by side.
///
/// # Safety
/// The methods need the instructions of their implementor.
pub(crate) trait Gf2: Copy {
    unsafe fn add(self, other: Self) -> Self;
    unsafe fn mul(self, other: Self) -> Self;
}

impl Gf2 for u64 {
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        self ^ other
    }
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        self & other
    }
}

/// The S-box without its constant 0x63, on planes: plane `i` holds bit `i` of every byte.
///
/// 32 multiplications and 83 additions, the circuit of figures 5 to 8 in Boyar and Peralta, "A depth-16
/// circuit for the AES S-box" and "A new combinational logic minimization technique with
/// applications to cryptology" (SEA 2010): a linear map to y, the inversion in GF((2^4)^2) with t25
/// to t40 as its core, and a linear map back. Names are theirs.
///
/// # Safety
/// The instructions of `G` are enabled in the caller.
#[inline(always)]
pub(crate) unsafe fn sub_bytes<G: Gf2>([x7, x6, x5, x4, x3, x2, x1, x0]: [G; 8]) -> [G; 8] {
    let (xor, and) = (
        #[inline(always)]
        // SAFETY: the caller enables the instructions of `G`.
        |a: G, b: G| unsafe { a.add(b) },
        #[inline(always)]
        // SAFETY: the caller enables the instructions of `G`.
        |a: G, b: G| unsafe { a.mul(b) },
    );

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

    let t2 = and(y12, y15);
    let t4 = xor(and(y3, y6), t2);
    let t6 = xor(and(y4, x7), t2);
    let t7 = and(y13, y16);
    let t9 = xor(and(y5, y1), t7);
    let t11 = xor(and(y2, y7), t7);
    let t12 = and(y9, y11);
    let t14 = xor(and(y14, y17), t12);
    let t16 = xor(and(y8, y10), t12);
    let t21 = xor(xor(t4, t14), y20);
    let t22 = xor(xor(t6, t16), y19);
    let t23 = xor(xor(t9, t14), y21);
    let t24 = xor(xor(t11, t16), y18);

    let t25 = xor(t21, t22);
    let t26 = and(t21, t23);
    let t27 = xor(t24, t26);
    let t29 = xor(and(t25, t27), t22);
    let t30 = xor(t23, t24);
    let t31 = xor(t22, t26);
    let t33 = xor(and(t31, t30), t24);
    let t34 = xor(t23, t33);
    let t35 = xor(t27, t33);
    let t36 = and(t24, t35);
    let t37 = xor(t36, t34);
    let t38 = xor(t27, t36);
    let t40 = xor(t25, and(t29, t38));

    let t41 = xor(t40, t37);
    let t42 = xor(t29, t33);
    let t43 = xor(t29, t40);
    let t44 = xor(t33, t37);
    let t45 = xor(t42, t41);
    let z0 = and(t44, y15);
    let z1 = and(t37, y6);
    let z2 = and(t33, x7);
    let z3 = and(t43, y16);
    let z4 = and(t40, y1);
    let z5 = and(t29, y7);
    let z6 = and(t42, y11);
    let z7 = and(t45, y17);
    let z8 = and(t41, y10);
    let z9 = and(t44, y12);
    let z10 = and(t37, y3);
    let z11 = and(t33, y4);
    let z12 = and(t43, y13);
    let z13 = and(t40, y5);
    let z14 = and(t29, y2);
    let z15 = and(t42, y9);
    let z16 = and(t45, y14);
    let z17 = and(t41, y8);

    let t46 = xor(z15, z16);
    let t47 = xor(z10, z11);
    let t48 = xor(z5, z13);
    let t49 = xor(z9, z10);
    let t50 = xor(z2, z12);
    let t51 = xor(z2, z5);
    let t52 = xor(z7, z8);
    let t53 = xor(z0, z3);
    let t54 = xor(z6, z7);
    let t55 = xor(z16, z17);
    let t56 = xor(z12, t48);
    let t57 = xor(t50, t53);
    let t58 = xor(z4, t46);
    let t59 = xor(z3, t54);
    let t60 = xor(t46, t57);
    let t61 = xor(z14, t57);
    let t62 = xor(t52, t58);
    let t63 = xor(t49, t58);
    let t64 = xor(z4, t59);
    let t65 = xor(t61, t62);
    let t66 = xor(z1, t63);
    let s0 = xor(t59, t63);
    let s6 = xor(t56, t62);
    let s7 = xor(t48, t60);
    let t67 = xor(t64, t65);
    let s3 = xor(t53, t66);
    let s4 = xor(t51, t66);
    let s5 = xor(t47, t65);
    let s1 = xor(t64, s3);
    let s2 = xor(t55, t67);
    [s7, s6, s5, s4, s3, s2, s1, s0]
}

/// SubWord of the key expansion (FIPS 197, section 5.2).
#[cfg(debug_assertions)]
pub(crate) fn sub_word(word: u32) -> u32 {
    // Bit i of byte j, at 8 j + i, to 8 i + j: that is plane i.
    let bits = transpose(u64::from(word));
    let mut planes = [0; 8];
    for (i, plane) in planes.iter_mut().enumerate() {
        *plane = bits >> (8 * i) & 0xf;
    }
    // SAFETY: a u64 needs no special instruction.
    let planes = unsafe { sub_bytes(planes) };
    let mut bits = 0;
    for (i, plane) in planes.iter().enumerate() {
        bits |= plane << (8 * i);
    }
    transpose(bits) as u32 ^ 0x6363_6363
}
