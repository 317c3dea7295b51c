//! The linear maps around the inversion in the S-box and in the inverse S-box, found by the method of Boyar and
//! Peralta ("A new combinational logic minimization technique with applications to cryptology", SEA 2010) with
//! chance between equals: 113 gates and 114, 62 of them the inversion and its products.
//!
//! Values 0 to 7 are inputs, and each pair adds two values to make the next.

/// A circuit of eight inputs, and where in it the outputs are.
pub struct Gates<'a> {
    pub gates: &'a [(usize, usize)],
    pub at: &'a [usize; 18],
}

/// The transposed circuit: from the eight planes of the S-box to the 18 products.
pub const BOTTOM: Gates<'_> = Gates {
    gates: &[
        (0, 1),
        (2, 5),
        (1, 9),
        (3, 8),
        (10, 11),
        (0, 10),
        (6, 7),
        (5, 14),
        (10, 15),
        (3, 4),
        (6, 17),
        (16, 18),
        (12, 18),
        (7, 18),
        (2, 21),
        (13, 21),
        (11, 19),
        (8, 22),
    ],
    at: &[
        20, 18, 12, 24, 19, 11, 15, 16, 10, 21, 22, 2, 13, 8, 9, 23, 25, 5,
    ],
};

/// The same for the inverse S-box.
pub const INVERSE_BOTTOM: Gates<'_> = Gates {
    gates: &[
        (5, 6),
        (1, 3),
        (2, 8),
        (3, 8),
        (4, 11),
        (9, 10),
        (10, 12),
        (0, 6),
        (3, 15),
        (11, 15),
        (4, 7),
        (13, 18),
        (6, 19),
        (0, 19),
        (10, 18),
        (5, 19),
        (11, 23),
        (14, 19),
        (13, 25),
    ],
    at: &[
        14, 10, 12, 25, 13, 26, 19, 9, 22, 15, 11, 17, 20, 23, 8, 21, 24, 16,
    ],
};

/// From planes to what [`super::program::Program`] multiplies, for the inverse S-box.
pub const INVERSE_TOP: &[(usize, usize)] = &[
    (4, 6),
    (0, 3),
    (4, 9),
    (1, 10),
    (7, 8),
    (0, 10),
    (4, 7),
    (10, 12),
    (8, 14),
    (5, 13),
    (3, 12),
    (8, 11),
    (11, 18),
    (13, 19),
    (17, 19),
    (1, 22),
    (11, 23),
    (2, 7),
    (19, 25),
    (13, 26),
    (15, 27),
    (22, 27),
    (12, 29),
];
pub const INVERSE_TOP_AT: [usize; 22] = [
    18, 11, 13, 16, 10, 21, 20, 19, 8, 14, 30, 26, 12, 15, 27, 22, 28, 9, 24, 23, 17, 29,
];
