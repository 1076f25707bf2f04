//! Addresses of pages, and of what belongs to them.

/// The page of a Deployment.
#[must_use]
pub fn deployment(cluster: &str, namespace: &str, name: &str) -> String {
    format!("/clusters/{}/namespaces/{}/deployments/{}", segment(cluster), segment(namespace), segment(name))
}

/// The list of a cluster's Deployments.
#[must_use]
pub fn cluster(cluster: &str) -> String {
    format!("/clusters/{}", segment(cluster))
}

/// The list of a namespace's Deployments.
#[must_use]
pub fn namespace(cluster: &str, namespace: &str) -> String {
    format!("/clusters/{}/namespaces/{}", segment(cluster), segment(namespace))
}

/// Everything about a pod, below the page of its Deployment.
#[must_use]
pub fn pod(uid: timeline::Uid) -> String {
    format!("pods/{uid}")
}

/// Everything about a revision, below the page of its Deployment.
#[must_use]
pub fn revision(revision: u64) -> String {
    format!("revisions/{revision}")
}

/// The timeline document of a Deployment, in the read API.
#[must_use]
pub fn timeline(cluster: &str, namespace: &str, name: &str) -> String {
    format!("/api/v1{}/timeline", deployment(cluster, namespace, name))
}

/// A name as a segment of a path: percent-encodes everything that is not unreserved in one.
#[must_use]
pub fn segment(name: &str) -> String {
    name.bytes().fold(String::with_capacity(name.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'@' | b':') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            for digit in [byte >> 4, byte & 15] {
                out.extend(char::from_digit(u32::from(digit), 16).map(|digit| digit.to_ascii_uppercase()));
            }
        }
        out
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn context_names_with_slashes_stay_one_segment() {
        let address = super::deployment("arn:aws:eks/prod eu", "shop", "web");
        assert_eq!(address, "/clusters/arn:aws:eks%2Fprod%20eu/namespaces/shop/deployments/web");
    }
}
