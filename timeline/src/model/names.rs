//! Enums whose variants have names, in one table each.

/// Adds `ALL`, `name` (with the given documentation) and `from_name` to an enum.
macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($variant:ident => $name:literal,)* }) => {
        impl $type {
            /// Every variant, in the order of the enum.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            $(#[$doc])*
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the variant of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

pub(crate) use names;
