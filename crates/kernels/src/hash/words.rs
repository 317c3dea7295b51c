//! What the hash functions ask of a register of words, each word of another message.

/// A word of a hash function, and the registers that hold many.
pub trait Word: Copy + Default + 'static {
    /// The register that holds this word of one message alone.
    type One: Words<Word = Self>;
}

/// A word of each of `LANES` messages.
///
/// # Safety
/// Every method needs the instructions of its implementor. Pointers need not be aligned.
pub trait Words: Copy {
    /// Messages in a register.
    const LANES: usize;
    /// A word of one of them.
    type Word: Word;

    unsafe fn splat(word: Self::Word) -> Self;
    /// Reads `LANES` words.
    unsafe fn load(from: *const Self::Word) -> Self;
    /// Writes `LANES` words.
    unsafe fn store(self, to: *mut Self::Word);
    /// The 16 words of a block of each message, `at` bytes after its pointer; `LANES` pointers are read.
    unsafe fn block<const BIG_ENDIAN: bool>(from: *const *const u8, at: usize) -> [Self; 16];
    unsafe fn plus(self, other: Self) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn rotate_left<const N: i32, const BACK: i32>(self) -> Self;
    unsafe fn shift_right<const N: u32>(self) -> Self;
    /// The bits of `y` where those of this are set, else those of `z`.
    unsafe fn choose(self, y: Self, z: Self) -> Self;
    unsafe fn majority(self, y: Self, z: Self) -> Self;
    unsafe fn parity(self, y: Self, z: Self) -> Self;
    /// `y ^ (x | !z)`, where this is `x` (RFC 1321, section 3.4).
    unsafe fn md5_i(self, y: Self, z: Self) -> Self;
}

macro_rules! one_message {
    ($($word:ident),+) => {$(
        impl Word for $word {
            type One = Self;
        }

        // SAFETY: needs no special instructions; pointers are as the trait demands.
        impl Words for $word {
            const LANES: usize = 1;
            type Word = Self;

            #[inline(always)]
            unsafe fn splat(word: Self) -> Self {
                word
            }
            #[inline(always)]
            unsafe fn load(from: *const Self) -> Self {
                // SAFETY: as the trait demands.
                unsafe { from.read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut Self) {
                // SAFETY: as the trait demands.
                unsafe { to.write_unaligned(self) }
            }
            #[inline(always)]
            unsafe fn block<const BIG_ENDIAN: bool>(from: *const *const u8, at: usize) -> [Self; 16] {
                core::array::from_fn(|i| {
                    // SAFETY: as the trait demands, a pointer and a block after it.
                    let word = unsafe { (*from).add(at).cast::<Self>().add(i).read_unaligned() };
                    if BIG_ENDIAN { Self::from_be(word) } else { Self::from_le(word) }
                })
            }
            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            unsafe fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            unsafe fn rotate_left<const N: i32, const BACK: i32>(self) -> Self {
                $word::rotate_left(self, N as u32)
            }
            #[inline(always)]
            unsafe fn shift_right<const N: u32>(self) -> Self {
                self >> N
            }
            #[inline(always)]
            unsafe fn choose(self, y: Self, z: Self) -> Self {
                z ^ (self & (y ^ z))
            }
            #[inline(always)]
            unsafe fn majority(self, y: Self, z: Self) -> Self {
                (self & y) | (z & (self | y))
            }
            #[inline(always)]
            unsafe fn parity(self, y: Self, z: Self) -> Self {
                self ^ y ^ z
            }
            #[inline(always)]
            unsafe fn md5_i(self, y: Self, z: Self) -> Self {
                y ^ (self | !z)
            }
        }
    )+};
}

one_message! { u32, u64 }
