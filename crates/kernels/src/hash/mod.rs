//! The hash functions of HMAC, each written once, over words of all messages that a register holds.

pub(crate) mod words;

use words::{Word, Words};

/// A hash function (RFC 1321, FIPS 180-4).
///
/// # Safety
/// `WORDS` is at most 8.
pub trait Function: 'static {
    /// The word that it computes with.
    type Word: Word;
    /// Bytes of a block.
    const BLOCK_BYTES: usize;
    /// Bytes of a digest.
    const DIGEST_BYTES: usize;
    /// Words of the state: the first of `INITIAL`.
    const WORDS: usize;
    /// The state before the first block.
    const INITIAL: [Self::Word; 8];
    /// Whether words are read and written with the most significant byte first.
    const BIG_ENDIAN: bool;
    /// The instructions that SHA-NI has for it.
    const OWN: Own;

    /// Absorbs `blocks` blocks of `V::LANES` messages into their states.
    ///
    /// # Safety
    /// The instructions of `V` and of `beside` are enabled in the caller; each of the pointers in `from` is valid for
    /// `blocks` blocks, and `beside` has enough work left for them; `rows` has `V::LANES` words in each of `WORDS` rows.
    unsafe fn absorb<V: Words<Word = Self::Word>>(
        rows: &mut Rows<Self::Word>,
        from: *const *const u8,
        blocks: usize,
        beside: impl Beside,
    );
    /// Writes the bytes of a word.
    fn put(word: Self::Word, to: &mut [u8]);
}

/// The hash functions for which SHA-NI has instructions. Their words have 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    None,
    Sha1,
    Sha256,
}

/// Work that is interleaved with a hash of 64-byte blocks, whose chain leaves units idle: four parts for each block, in the
/// gaps of its rounds.
pub trait Beside {
    /// Called before the rounds of a block.
    ///
    /// # Safety
    /// The CPU has the instructions of the implementing type, and the value has work left for a block.
    unsafe fn begin(&mut self);
    /// Called after round `I` of the `N` rounds of a part.
    ///
    /// # Safety
    /// The CPU has the instructions of the implementing type; [`begin`](Self::begin) was called for this block.
    unsafe fn step<const I: usize, const N: usize>(&mut self);
    /// Called after the rounds of a block.
    ///
    /// # Safety
    /// The CPU has the instructions of the implementing type; all steps of the block were called.
    unsafe fn end(&mut self);
}

impl<B: Beside> Beside for &mut B {
    #[inline(always)]
    unsafe fn begin(&mut self) {
        // SAFETY: the caller has the instructions of `B`, and work left for a block.
        unsafe { (**self).begin() }
    }
    #[inline(always)]
    unsafe fn step<const I: usize, const N: usize>(&mut self) {
        // SAFETY: the caller has the instructions of `B`, and began the block.
        unsafe { (**self).step::<I, N>() }
    }
    #[inline(always)]
    unsafe fn end(&mut self) {
        // SAFETY: the caller has the instructions of `B`, and called all steps of the block.
        unsafe { (**self).end() }
    }
}

/// No interleaved work.
impl Beside for () {
    #[inline(always)]
    unsafe fn begin(&mut self) {}
    #[inline(always)]
    unsafe fn step<const I: usize, const N: usize>(&mut self) {}
    #[inline(always)]
    unsafe fn end(&mut self) {}
}

/// The states of up to 16 messages: a row has the same word of each.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Rows<W>(pub [[W; LANES_MAX]; 8]);

/// The most messages that any backend processes at once.
pub const LANES_MAX: usize = 16;

/// SHA-1 (FIPS 180-4, section 6.1), for HMAC only.
#[derive(Clone, Copy, Debug)]
pub enum Sha1 {}
/// SHA-256 (FIPS 180-4, section 6.2).
#[derive(Clone, Copy, Debug)]
pub enum Sha256 {}
/// SHA-384 (FIPS 180-4, section 6.5).
#[derive(Clone, Copy, Debug)]
pub enum Sha384 {}
/// SHA-512 (FIPS 180-4, section 6.4).
#[derive(Clone, Copy, Debug)]
pub enum Sha512 {}
/// MD5 (RFC 1321), only for old peers.
#[derive(Clone, Copy, Debug)]
pub enum Md5 {}

macro_rules! common {
    ($word:ident, $block:literal, $digest:literal, $words:literal, $put:ident, $big_endian:literal, $own:ident) => {
        type Word = $word;
        const BLOCK_BYTES: usize = $block;
        const DIGEST_BYTES: usize = $digest;
        const WORDS: usize = $words;
        const BIG_ENDIAN: bool = $big_endian;
        const OWN: Own = Own::$own;
        #[inline(always)]
        fn put(word: $word, to: &mut [u8]) {
            to.copy_from_slice(&word.$put());
        }
    };
}

/// Loads the state, runs `$rounds` for each block with its 16 words in `$w`, and adds and stores the result.
macro_rules! for_each_block {
    ($v:ident, $words:literal, $rows:ident, $from:ident, $blocks:ident, $beside:ident, |$state:ident, $w:ident| $rounds:block) => {
        // SAFETY: the caller of `absorb` has the instructions of `$v`, which constants in `$rounds` need too, and in `$from`
        // a pointer for each lane that is valid for `$blocks` blocks; rows have room for a register. `$beside` has work for
        // all blocks; it begins, goes through its steps and ends in each of them.
        unsafe {
            let mut sums = [$v::splat(0); $words];
            for (sum, row) in sums.iter_mut().zip(&$rows.0) {
                *sum = $v::load(row.as_ptr());
            }
            for block in 0..$blocks {
                #[allow(unused_mut)] // MD5 has no message schedule
                let mut $w = $v::block::<{ Self::BIG_ENDIAN }>($from, block * Self::BLOCK_BYTES);
                let mut $state = sums;
                $beside.begin();
                $rounds
                $beside.end();
                for (sum, word) in sums.iter_mut().zip($state) {
                    *sum = sum.plus(word);
                }
            }
            for (row, sum) in $rows.0.iter_mut().zip(sums) {
                sum.store(row.as_mut_ptr());
            }
        }
    };
}

impl Function for Sha1 {
    common!(u32, 64, 20, 5, to_be_bytes, true, Sha1);
    const INITIAL: [u32; 8] = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0xc3d2_e1f0,
        0x0000_0000,
        0x0000_0000,
        0x0000_0000,
    ];

    #[inline(always)]
    unsafe fn absorb<V: Words<Word = u32>>(
        rows: &mut Rows<u32>,
        from: *const *const u8,
        blocks: usize,
        mut beside: impl Beside,
    ) {
        macro_rules! rounds {
            ($state:ident, $w:ident, $f:ident, $k:literal; $($t:literal)+) => {
                let k = V::splat($k);
                $(
                    if $t >= 16 {
                        let sum = $w[($t + 13) % 16].parity($w[($t + 8) % 16], $w[($t + 2) % 16]);
                        $w[$t % 16] = $w[$t % 16].xor(sum).rotate_left::<1, 31>();
                    }
                    let [a, b, c, d, e] = $state;
                    let rest = e.plus(k.plus($w[$t % 16])).plus(b.$f(c, d));
                    $state = [a.rotate_left::<5, 27>().plus(rest), a, b.rotate_left::<30, 2>(), c, d];
                    beside.step::<{ $t % 20 }, 20>();
                )+
            };
        }
        for_each_block!(V, 5, rows, from, blocks, beside, |state, w| {
            rounds!(state, w, choose, 0x5a82_7999; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
            rounds!(state, w, parity, 0x6ed9_eba1; 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39);
            rounds!(state, w, majority, 0x8f1b_bcdc; 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59);
            rounds!(state, w, parity, 0xca62_c1d6; 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79);
        });
    }
}

/// The rounds of SHA-2. Rotations to the right are written as rotations to the left, with the distance back.
macro_rules! sha2_rounds {
    ($v:ident, $state:ident, $w:ident, $k:ident, $beside:expr, $expand:expr,
     [$b00:literal $b01:literal $b02:literal], [$b10:literal $b11:literal $b12:literal],
     [$s00:literal $s01:literal $s02:literal], [$s10:literal $s11:literal $s12:literal], $bits:literal; $($t:literal)+) => {
        $(
            if $expand {
                let old = $w[($t + 1) % 16];
                let new = $w[($t + 14) % 16];
                let s0 = old.rotate_left::<{ $bits - $s00 }, $s00>()
                    .parity(old.rotate_left::<{ $bits - $s01 }, $s01>(), old.shift_right::<$s02>());
                let s1 = new.rotate_left::<{ $bits - $s10 }, $s10>()
                    .parity(new.rotate_left::<{ $bits - $s11 }, $s11>(), new.shift_right::<$s12>());
                $w[$t] = $w[$t].plus(s0).plus($w[($t + 9) % 16].plus(s1));
            }
            let [a, b, c, d, e, f, g, h] = $state;
            let x0 = e.rotate_left::<{ $bits - $b10 }, $b10>();
            let x1 = e.rotate_left::<{ $bits - $b11 }, $b11>();
            let x2 = e.rotate_left::<{ $bits - $b12 }, $b12>();
            let y0 = a.rotate_left::<{ $bits - $b00 }, $b00>();
            let y1 = a.rotate_left::<{ $bits - $b01 }, $b01>();
            let y2 = a.rotate_left::<{ $bits - $b02 }, $b02>();
            let one = h.plus($w[$t].plus($v::splat($k[$t]))).plus(e.choose(f, g)).plus(x0.parity(x1, x2));
            let two = y0.parity(y1, y2).plus(a.majority(b, c));
            $state = [one.plus(two), a, b, c, d.plus(one), e, f, g];
            $beside.step::<$t, 16>();
        )+
    };
}

impl Function for Sha256 {
    common!(u32, 64, 32, 8, to_be_bytes, true, Sha256);
    const INITIAL: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];

    #[inline(always)]
    unsafe fn absorb<V: Words<Word = u32>>(
        rows: &mut Rows<u32>,
        from: *const *const u8,
        blocks: usize,
        mut beside: impl Beside,
    ) {
        for_each_block!(V, 8, rows, from, blocks, beside, |state, w| {
            let [first, rest @ ..] = &K256;
            sha2_rounds!(V, state, w, first, beside, false,
                [2 13 22], [6 11 25], [7 18 3], [17 19 10], 32; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            for k in rest {
                sha2_rounds!(V, state, w, k, beside, true,
                    [2 13 22], [6 11 25], [7 18 3], [17 19 10], 32; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            }
        });
    }
}

macro_rules! sha512 {
    ($name:ident, $digest:literal, $initial:expr) => {
        impl Function for $name {
            common!(u64, 128, $digest, 8, to_be_bytes, true, None);
            const INITIAL: [u64; 8] = $initial;

            #[inline(always)]
            unsafe fn absorb<V: Words<Word = u64>>(
                rows: &mut Rows<u64>,
                from: *const *const u8,
                blocks: usize,
                _: impl Beside,
            ) {
                let mut beside = ();
                for_each_block!(V, 8, rows, from, blocks, beside, |state, w| {
                    let [first, rest @ ..] = &K512;
                    sha2_rounds!(V, state, w, first, beside, false,
                        [28 34 39], [14 18 41], [1 8 7], [19 61 6], 64; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
                    for k in rest {
                        sha2_rounds!(V, state, w, k, beside, true,
                            [28 34 39], [14 18 41], [1 8 7], [19 61 6], 64; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
                    }
                });
            }
        }
    };
}

sha512!(
    Sha384,
    48,
    [
        0xcbbb_9d5d_c105_9ed8,
        0x629a_292a_367c_d507,
        0x9159_015a_3070_dd17,
        0x152f_ecd8_f70e_5939,
        0x6733_2667_ffc0_0b31,
        0x8eb4_4a87_6858_1511,
        0xdb0c_2e0d_64f9_8fa7,
        0x47b5_481d_befa_4fa4,
    ]
);
sha512!(
    Sha512,
    64,
    [
        0x6a09_e667_f3bc_c908,
        0xbb67_ae85_84ca_a73b,
        0x3c6e_f372_fe94_f82b,
        0xa54f_f53a_5f1d_36f1,
        0x510e_527f_ade6_82d1,
        0x9b05_688c_2b3e_6c1f,
        0x1f83_d9ab_fb41_bd6b,
        0x5be0_cd19_137e_2179,
    ]
);

impl Function for Md5 {
    common!(u32, 64, 16, 4, to_le_bytes, false, None);
    const INITIAL: [u32; 8] = [
        0x6745_2301,
        0xefcd_ab89,
        0x98ba_dcfe,
        0x1032_5476,
        0x0000_0000,
        0x0000_0000,
        0x0000_0000,
        0x0000_0000,
    ];

    #[inline(always)]
    unsafe fn absorb<V: Words<Word = u32>>(
        rows: &mut Rows<u32>,
        from: *const *const u8,
        blocks: usize,
        mut beside: impl Beside,
    ) {
        // The words of a round are `$step` apart; the first is at `$first`.
        macro_rules! rounds {
            ($state:ident, $w:ident, |$x:ident, $y:ident, $z:ident| $f:expr, $first:literal, $step:literal, $base:literal;
             $r0:literal $r1:literal $r2:literal $r3:literal; $($t:literal)+) => {
                $(
                    let [a, $x, $y, $z] = $state;
                    let sum = a.plus($w[($first + $step * $t) % 16].plus(V::splat(K_MD5[$base + $t]))).plus($f);
                    let rotated = match $t % 4 {
                        0 => sum.rotate_left::<$r0, { 32 - $r0 }>(),
                        1 => sum.rotate_left::<$r1, { 32 - $r1 }>(),
                        2 => sum.rotate_left::<$r2, { 32 - $r2 }>(),
                        _ => sum.rotate_left::<$r3, { 32 - $r3 }>(),
                    };
                    $state = [$z, $x.plus(rotated), $x, $y];
                    beside.step::<$t, 16>();
                )+
            };
        }
        for_each_block!(V, 4, rows, from, blocks, beside, |state, w| {
            rounds!(state, w, |x, y, z| x.choose(y, z), 0, 1, 0; 7 12 17 22; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            rounds!(state, w, |x, y, z| z.choose(x, y), 1, 5, 16; 5 9 14 20; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            rounds!(state, w, |x, y, z| x.parity(y, z), 5, 3, 32; 4 11 16 23; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            rounds!(state, w, |x, y, z| x.md5_i(y, z), 0, 7, 48; 6 10 15 21; 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        });
    }
}

/// The constants of SHA-256 (FIPS 180-4, section 4.2.2).
pub(crate) const K256: [[u32; 16]; 4] = [
    [
        0x428a_2f98,
        0x7137_4491,
        0xb5c0_fbcf,
        0xe9b5_dba5,
        0x3956_c25b,
        0x59f1_11f1,
        0x923f_82a4,
        0xab1c_5ed5,
        0xd807_aa98,
        0x1283_5b01,
        0x2431_85be,
        0x550c_7dc3,
        0x72be_5d74,
        0x80de_b1fe,
        0x9bdc_06a7,
        0xc19b_f174,
    ],
    [
        0xe49b_69c1,
        0xefbe_4786,
        0x0fc1_9dc6,
        0x240c_a1cc,
        0x2de9_2c6f,
        0x4a74_84aa,
        0x5cb0_a9dc,
        0x76f9_88da,
        0x983e_5152,
        0xa831_c66d,
        0xb003_27c8,
        0xbf59_7fc7,
        0xc6e0_0bf3,
        0xd5a7_9147,
        0x06ca_6351,
        0x1429_2967,
    ],
    [
        0x27b7_0a85,
        0x2e1b_2138,
        0x4d2c_6dfc,
        0x5338_0d13,
        0x650a_7354,
        0x766a_0abb,
        0x81c2_c92e,
        0x9272_2c85,
        0xa2bf_e8a1,
        0xa81a_664b,
        0xc24b_8b70,
        0xc76c_51a3,
        0xd192_e819,
        0xd699_0624,
        0xf40e_3585,
        0x106a_a070,
    ],
    [
        0x19a4_c116,
        0x1e37_6c08,
        0x2748_774c,
        0x34b0_bcb5,
        0x391c_0cb3,
        0x4ed8_aa4a,
        0x5b9c_ca4f,
        0x682e_6ff3,
        0x748f_82ee,
        0x78a5_636f,
        0x84c8_7814,
        0x8cc7_0208,
        0x90be_fffa,
        0xa450_6ceb,
        0xbef9_a3f7,
        0xc671_78f2,
    ],
];

/// The constants of SHA-384 and SHA-512 (FIPS 180-4, section 4.2.3).
pub(crate) static K512: [[u64; 16]; 5] = [
    [
        0x428a_2f98_d728_ae22,
        0x7137_4491_23ef_65cd,
        0xb5c0_fbcf_ec4d_3b2f,
        0xe9b5_dba5_8189_dbbc,
        0x3956_c25b_f348_b538,
        0x59f1_11f1_b605_d019,
        0x923f_82a4_af19_4f9b,
        0xab1c_5ed5_da6d_8118,
        0xd807_aa98_a303_0242,
        0x1283_5b01_4570_6fbe,
        0x2431_85be_4ee4_b28c,
        0x550c_7dc3_d5ff_b4e2,
        0x72be_5d74_f27b_896f,
        0x80de_b1fe_3b16_96b1,
        0x9bdc_06a7_25c7_1235,
        0xc19b_f174_cf69_2694,
    ],
    [
        0xe49b_69c1_9ef1_4ad2,
        0xefbe_4786_384f_25e3,
        0x0fc1_9dc6_8b8c_d5b5,
        0x240c_a1cc_77ac_9c65,
        0x2de9_2c6f_592b_0275,
        0x4a74_84aa_6ea6_e483,
        0x5cb0_a9dc_bd41_fbd4,
        0x76f9_88da_8311_53b5,
        0x983e_5152_ee66_dfab,
        0xa831_c66d_2db4_3210,
        0xb003_27c8_98fb_213f,
        0xbf59_7fc7_beef_0ee4,
        0xc6e0_0bf3_3da8_8fc2,
        0xd5a7_9147_930a_a725,
        0x06ca_6351_e003_826f,
        0x1429_2967_0a0e_6e70,
    ],
    [
        0x27b7_0a85_46d2_2ffc,
        0x2e1b_2138_5c26_c926,
        0x4d2c_6dfc_5ac4_2aed,
        0x5338_0d13_9d95_b3df,
        0x650a_7354_8baf_63de,
        0x766a_0abb_3c77_b2a8,
        0x81c2_c92e_47ed_aee6,
        0x9272_2c85_1482_353b,
        0xa2bf_e8a1_4cf1_0364,
        0xa81a_664b_bc42_3001,
        0xc24b_8b70_d0f8_9791,
        0xc76c_51a3_0654_be30,
        0xd192_e819_d6ef_5218,
        0xd699_0624_5565_a910,
        0xf40e_3585_5771_202a,
        0x106a_a070_32bb_d1b8,
    ],
    [
        0x19a4_c116_b8d2_d0c8,
        0x1e37_6c08_5141_ab53,
        0x2748_774c_df8e_eb99,
        0x34b0_bcb5_e19b_48a8,
        0x391c_0cb3_c5c9_5a63,
        0x4ed8_aa4a_e341_8acb,
        0x5b9c_ca4f_7763_e373,
        0x682e_6ff3_d6b2_b8a3,
        0x748f_82ee_5def_b2fc,
        0x78a5_636f_4317_2f60,
        0x84c8_7814_a1f0_ab72,
        0x8cc7_0208_1a64_39ec,
        0x90be_fffa_2363_1e28,
        0xa450_6ceb_de82_bde9,
        0xbef9_a3f7_b2c6_7915,
        0xc671_78f2_e372_532b,
    ],
    [
        0xca27_3ece_ea26_619c,
        0xd186_b8c7_21c0_c207,
        0xeada_7dd6_cde0_eb1e,
        0xf57d_4f7f_ee6e_d178,
        0x06f0_67aa_7217_6fba,
        0x0a63_7dc5_a2c8_98a6,
        0x113f_9804_bef9_0dae,
        0x1b71_0b35_131c_471b,
        0x28db_77f5_2304_7d84,
        0x32ca_ab7b_40c7_2493,
        0x3c9e_be0a_15c9_bebc,
        0x431d_67c4_9c10_0d4c,
        0x4cc5_d4be_cb3e_42b6,
        0x597f_299c_fc65_7e2a,
        0x5fcb_6fab_3ad6_faec,
        0x6c44_198c_4a47_5817,
    ],
];

/// The constants of MD5, from sines (RFC 1321, section 3.4).
const K_MD5: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];
