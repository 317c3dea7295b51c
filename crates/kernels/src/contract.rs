//! Declares and implements methods of registers whose instructions not every CPU has.
//!
//! A method that creates a register from anything else is unsafe, and its caller must have the instructions. A method that
//! takes a register of one of our types can be safe: without the instructions there would be none.

/// Declares methods of a trait of registers that need only the instructions of the implementing type.
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

/// Implements methods of a trait of registers that need only what the trait's method demands of its caller: the instructions
/// of the register, and pointers that are valid for what the method says. A body that relies on more than that, such as a
/// bound of its own, is written out with its reason.
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
        /// The same as for the trait's method.
        #[inline(always)]
        unsafe fn $name $(<$(const $parameter: $type),+>)? ($($argument)*) $(-> $result)? {
            // SAFETY: the caller keeps the contract of the trait's method: the CPU has the instructions of this type, which
            // are all that the intrinsics here need, and the pointers passed to the method are valid for what it reads and
            // writes. Other pointers lead to arrays of a register's length.
            unsafe { $($body)* }
        }
    )+};
}
pub(crate) use by_contract;

/// Implements safe methods that take a register, for a type whose field is private.
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
            // SAFETY: the method has a register of this type. Only an unsafe method created the first one, and its caller
            // had the instructions of the type, which are all that the intrinsics here need.
            unsafe { $($body)* }
        }
    )+};
}
#[cfg(target_arch = "x86_64")]
pub(crate) use by_possession;
