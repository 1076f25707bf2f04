//! Enums whose variants have names, in one table each.

/// Gives an enum `ALL`, `name` with the documentation that is told, and `from_name`.
macro_rules! names {
    ($(#[$doc:meta])* $type:ident { $($variant:ident => $name:literal,)* }) => {
        impl $type {
            /// Every one, in the order of the enum.
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
