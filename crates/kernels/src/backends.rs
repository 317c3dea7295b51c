//! Declares the backends of an algorithm.

/// Declares an enum of backends, with `all`, `preferred` and `name`. `Portable` comes first; the others are for x86-64,
/// the preferred one first. After a backend's token, which proves that the CPU has its instructions, come its name and, if it
/// is not always used, the condition.
#[doc(hidden)]
#[macro_export]
macro_rules! backends {
    (
        $(#[$of_type:meta])*
        pub enum $backend:ident {
            $(#[$of_portable:meta])*
            Portable,
            $(
                $(#[$of_variant:meta])*
                $variant:ident $(($token:ident $(, $units:ident)?))? $name:literal $(if $condition:expr)?,
            )+
        }
        $(#[$of_all:meta])*
        $visibility:vis fn all;
    ) => {
        $(#[$of_type])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $backend {
            $(#[$of_portable])*
            Portable,
            $(
                $(#[$of_variant])*
                #[cfg(target_arch = "x86_64")]
                $variant $(($token $(, $units)?))?,
            )+
        }

        impl $backend {
            $(#[$of_all])*
            $visibility fn all(cpu: Cpu) -> impl Iterator<Item = Self> {
                #[cfg(target_arch = "x86_64")]
                let special = [$(
                    $crate::backends!(@new cpu $variant $($token $($units)?)?)
                        $(.filter(|_| $condition))?,
                )+];
                #[cfg(not(target_arch = "x86_64"))]
                let special: [Option<Self>; 0] = {
                    let _ = cpu;
                    []
                };
                special.into_iter().flatten().chain([Self::Portable])
            }

            /// Returns the fastest backend on `cpu`.
            pub fn preferred(cpu: Cpu) -> Self {
                Self::all(cpu).next().unwrap_or(Self::Portable)
            }

            /// Returns its name in listings and statistics.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Portable => "portable",
                    $(
                        #[cfg(target_arch = "x86_64")]
                        Self::$variant { .. } => $name,
                    )+
                }
            }
        }
    };
    (@new $cpu:ident $variant:ident) => { Some(Self::$variant) };
    (@new $cpu:ident $variant:ident $token:ident) => { $token::new($cpu).map(Self::$variant) };
    (@new $cpu:ident $variant:ident $token:ident $units:ident) => {
        $token::new($cpu).map(|token| Self::$variant(token, $units::of($cpu)))
    };
}
pub(crate) use backends;
