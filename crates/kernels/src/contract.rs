//! How the methods of registers are declared and written, whose instructions not every CPU has.
//!
//! A method that makes a register out of anything else is unsafe, and demands its instructions of the caller. One that is
//! given a register of a type of ours can be safe: without the instructions there would be none.

/// Declares methods of a trait of registers that need the instructions of the implementing type and nothing else.
#[doc(hidden)]
#[macro_export]
macro_rules! needs_instructions {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident $(<$(const $parameter:ident: $type:ty),+>)? ($($argument:tt)*) -> $result:ty;
    )+) => {$(
        $(#[$attribute])*
        ///
        /// # Safety
        /// The CPU has the instructions of the implementing type.
        unsafe fn $name $(<$(const $parameter: $type),+>)? ($($argument)*) -> $result;
    )+};
}
pub(crate) use needs_instructions;

/// Writes methods of a trait of registers that need nothing but what the trait's method demands of its caller: the
/// instructions of the register, and pointers that are valid for what the method says. A body that relies on more than
/// that, such as a bound of its own, is written out, with its reason.
#[doc(hidden)]
#[macro_export]
macro_rules! by_contract {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident $(<$(const $parameter:ident: $type:ty),+>)? ($($argument:tt)*) $(-> $result:ty)? {
            $($body:tt)*
        }
    )+) => {$(
        $(#[$attribute])*
        /// # Safety
        /// As the trait's method says.
        #[inline(always)]
        unsafe fn $name $(<$(const $parameter: $type),+>)? ($($argument)*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of the trait's method: the CPU has the instructions of this type, which
            // are all that the intrinsics here ask for, and the pointers that the method is given are valid for what it reads
            // and writes. Others lead to arrays of a register's length.
            unsafe { $($body)* }
        }
    )+};
}
pub(crate) use by_contract;

/// Writes safe methods that are given a register, for a type whose field is private.
#[doc(hidden)]
#[macro_export]
macro_rules! by_possession {
    ($(
        $(#[$attribute:meta])*
        fn $name:ident $(<$(const $parameter:ident: $type:ty),+>)? ($($argument:tt)*) -> $result:ty {
            $($body:tt)*
        }
    )+) => {$(
        $(#[$attribute])*
        #[inline(always)]
        fn $name $(<$(const $parameter: $type),+>)? ($($argument)*) -> $result {
            // SAFETY: the method is given a register of this type. Whatever made the first of them is unsafe, and its caller
            // had the instructions of the type, which are all that the intrinsics here ask for.
            unsafe { $($body)* }
        }
    )+};
}
#[cfg(target_arch = "x86_64")]
pub(crate) use by_possession;
