//! `pod-template-hash`: FNV-1a of the template and of the collision count, in an alphabet without vowels.

use k8s_openapi::api::core::v1::PodTemplateSpec;

/// Letters of Kubernetes' random names and hashes: no vowels, no letters that look alike.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

fn letter(number: usize) -> char {
    ALPHABET.get(number % ALPHABET.len()).map_or('b', |letter| char::from(*letter))
}

pub fn of_template(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    let text = serde_json::to_vec(template).unwrap_or_default();
    let count = collisions.map(|count| i64::from(count).to_le_bytes());
    let bytes = text.into_iter().chain(count.into_iter().flatten());
    let number: u32 = bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    number.to_string().bytes().map(|digit| letter(usize::from(digit))).collect()
}

/// Returns the five letters at the end of a generated name.
pub fn suffix(random: &mut fastrand::Rng) -> String {
    (0..5).map(|_| letter(random.usize(..ALPHABET.len()))).collect()
}

/// Returns a random UID (version 4).
pub fn uid(random: &mut fastrand::Rng) -> String {
    let number = (random.u128(..) & !(0xf000 << 64) & !(0xc000 << 48)) | (0x4000 << 64) | (0x8000 << 48);
    let text = format!("{number:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_depend_on_template_and_collisions() {
        let template = PodTemplateSpec::default();
        assert_eq!(of_template(&template, None), of_template(&template, None));
        assert_ne!(of_template(&template, None), of_template(&template, Some(1)));
        assert!(of_template(&template, None).bytes().all(|byte| ALPHABET.contains(&byte)));
    }

    #[test]
    fn uids_are_random_ones() {
        let uid = uid(&mut fastrand::Rng::with_seed(1));
        assert_eq!((uid.len(), uid.get(14..15), uid.matches('-').count()), (36, Some("4"), 4));
    }
}
