//! Serializes a field that checkpoints contain and frames do not: `#[serde(with = "server_only")]`.
//!
//! Frames are postcard, which serde does not call human-readable: the field takes no byte there, and is decoded as its default. The format
//! of checkpoints calls itself human-readable, and contains everything. So one set of types serves both, and one line marks a field as
//! server-only.

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
