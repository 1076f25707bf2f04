//! Identity: the UID of a Kubernetes object, kept as its 128 bits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// `metadata.uid`. Kubernetes creates UUIDs. The text is the canonical lower-case form with hyphens, and only that form is accepted, so
/// that the output is byte for byte that of the cluster.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(u128);

/// The text is not a UID in canonical form.
#[derive(Debug, thiserror::Error)]
#[error("not a UID in the form 8-4-4-4-12 lower-case hexadecimal digits")]
pub struct InvalidUid;

impl Uid {
    /// Creates a UID from its bits; for builders and tests.
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits)
    }

    /// Returns the bits, which have the order of the UIDs.
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl FromStr for Uid {
    type Err = InvalidUid;

    fn from_str(text: &str) -> Result<Self, InvalidUid> {
        if text.len() != 36 {
            return Err(InvalidUid);
        }
        let mut bits = 0;
        for (index, letter) in text.bytes().enumerate() {
            let digit = match (index, letter) {
                (8 | 13 | 18 | 23, b'-') => continue,
                (8 | 13 | 18 | 23, _) => return Err(InvalidUid),
                (_, b'0'..=b'9') => letter - b'0',
                (_, b'a'..=b'f') => letter - b'a' + 10,
                _ => return Err(InvalidUid),
            };
            bits = bits << 4 | u128::from(digit);
        }
        Ok(Self(bits))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let b = self.0;
        let (a, b2, c) = (b >> 96, b >> 80 & 0xffff, b >> 64 & 0xffff);
        write!(f, "{a:08x}-{b2:04x}-{c:04x}-{:04x}-{:012x}", b >> 48 & 0xffff, b & 0xffff_ffff_ffff)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Uid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            self.0.to_be_bytes().serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Uid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
            text.parse().map_err(de::Error::custom)
        } else {
            <[u8; 16]>::deserialize(deserializer).map(|bytes| Self(u128::from_be_bytes(bytes)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_both_ways() {
        let text = "6e9c9864-c734-4aeb-a966-7d7a96e2d8f7";
        let uid = text.parse::<Uid>().unwrap();
        assert_eq!((uid.to_string(), format!("{uid:?}")), (text.to_owned(), text.to_owned()));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "6e9c9864c7344aeba9667d7a96e2d8f7",
            "6E9C9864-c734-4aeb-a966-7d7a96e2d8f7",
            "6e9c9864-c734-4aeb-a966-7d7a96e2d8f7-",
        ] {
            assert!(text.parse::<Uid>().is_err(), "{text}");
        }
    }
}
