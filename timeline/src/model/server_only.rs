//! Serializes a field that checkpoints hold and frames do not: `#[serde(with = "server_only")]`.
//!
//! Frames are postcard, which serde does not call human-readable: the field takes no byte there, and arrives as its default.
//! Checkpoints are written by a format that says that it is human-readable, and hold everything. So one set of types does for
//! both, and a field has one line that says that it stays.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() { value.serialize(serializer) } else { serializer.serialize_unit() }
}

pub(super) fn deserialize<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    if deserializer.is_human_readable() {
        T::deserialize(deserializer)
    } else {
        <()>::deserialize(deserializer).map(|()| T::default())
    }
}
