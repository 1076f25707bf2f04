//! Creates clients from a kubeconfig, one per context. Errors contain the problem and a remedy.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{Kubeconfig, KubeconfigError};

/// Why a client cannot be created.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TargetError {
    #[error("cannot read the kubeconfig {path}: {why}; set the right file with --kubeconfig or KUBECONFIG")]
    File { path: String, why: String },
    /// There is no kubeconfig, and this program does not run in a pod of a cluster.
    #[error("no kubeconfig found; set one with --kubeconfig or KUBECONFIG, or create ~/.kube/config")]
    None,
    /// This program runs in a pod of a cluster, but its service account cannot be used.
    #[error("cannot use the service account of this pod: {0}")]
    InCluster(String),
    #[error("the kubeconfig has no context {name:?}; it has: {known}")]
    Context { name: String, known: String },
    #[error("two clusters would be named {name:?}: give one of them another name in rollcast.toml, with name = \"…\"")]
    Twice { name: String },
    #[error("cannot use context {name:?} of the kubeconfig: {why}")]
    Unusable { name: String, why: String },
}

/// The contexts of a kubeconfig.
#[derive(Debug, Clone)]
pub struct Contexts {
    /// `None` without a kubeconfig: only the cluster in which this program runs is left.
    pub(super) config: Option<Kubeconfig>,
    path: String,
    /// The given file; `None` for the default ones.
    asked: Option<PathBuf>,
}

impl Contexts {
    /// Reads a kubeconfig: the given one, or the default ones.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(kubeconfig: Option<&Path>) -> Result<Self, TargetError> {
        let of = |config, path: &str| Self { config, path: path.to_owned(), asked: kubeconfig.map(Path::to_path_buf) };
        if let Some(path) = kubeconfig {
            let name = path.display().to_string();
            let config = Kubeconfig::read_from(path).map_err(|why| unreadable(&name, why))?;
            return Ok(of(Some(config), &name));
        }
        let files = std::env::var_os("KUBECONFIG").unwrap_or_default();
        if let Some(config) = merge(&files)? {
            return Ok(of(Some(config), &files.to_string_lossy()));
        }
        let name = "~/.kube/config";
        match Kubeconfig::read() {
            Err(why) if is_missing(&why) => Ok(of(None, name)),
            read => Ok(of(Some(read.map_err(|why| unreadable(name, why))?), name)),
        }
    }

    /// Reads the same files again.
    ///
    /// # Errors
    /// If they cannot be read any more.
    pub fn reload(&self) -> Result<Self, TargetError> {
        Self::read(self.asked.as_deref())
    }

    /// Returns the path of the kubeconfig.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the names of the contexts.
    pub fn names(&self) -> Vec<String> {
        self.config.iter().flat_map(|config| &config.contexts).map(|context| context.name.clone()).collect()
    }

    /// Returns the context of that name, or the current one; `None` for the cluster in which this program runs.
    ///
    /// # Errors
    /// If there is none.
    pub fn choose(&self, context: Option<&str>) -> Result<Option<String>, TargetError> {
        let Some(config) = &self.config else {
            return match context {
                None if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() => Ok(None),
                _ => Err(TargetError::None),
            };
        };
        let wrong = |why: &str| TargetError::File { path: self.path.clone(), why: why.to_owned() };
        let current = config.current_context.as_deref().filter(|name| !name.is_empty());
        let name = context.or(current).ok_or_else(|| wrong("it has no current context; choose one with --context"))?;
        let known = self.names();
        if !known.iter().any(|known| known == name) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(TargetError::Context { name: name.to_owned(), known });
        }
        Ok(Some(name.to_owned()))
    }
}

/// Merges the files of `KUBECONFIG` by kubectl's rules, which the client library lacks: a missing file is skipped if another one
/// exists, and an empty current context counts as missing. `None` if no file is named.
fn merge(files: &OsStr) -> Result<Option<Kubeconfig>, TargetError> {
    let (mut merged, mut missing) = (None::<Kubeconfig>, None);
    for path in std::env::split_paths(files).filter(|path| !path.as_os_str().is_empty()) {
        let name = path.display().to_string();
        let mut next = match Kubeconfig::read_from(&path) {
            Err(why) if is_missing(&why) => {
                missing = Some(unreadable(&name, why));
                continue;
            }
            read => read.map_err(|why| unreadable(&name, why))?,
        };
        next.current_context = next.current_context.filter(|context| !context.is_empty());
        merged = Some(merged.unwrap_or_default().merge(next).map_err(|why| unreadable(&name, why))?);
    }
    match (merged, missing) {
        (None, Some(why)) => Err(why),
        (merged, _) => Ok(merged),
    }
}

fn is_missing(why: &KubeconfigError) -> bool {
    match why {
        KubeconfigError::FindPath => true, // the user has no home directory
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn unreadable(name: &str, why: KubeconfigError) -> TargetError {
    const INVALID: &str = "it is not a valid kubeconfig";
    let (path, why) = match why {
        KubeconfigError::ReadConfig(why, path) => (path.display().to_string(), why.to_string()),
        // Of a parser's error only the position is reported: the rest quotes the text, which may be a token.
        KubeconfigError::Parse(why) => {
            let place = why.location().map(|at| format!(", in line {}, column {}", at.line(), at.column()));
            (name.to_owned(), format!("{INVALID}{}", place.unwrap_or_default()))
        }
        _ => (name.to_owned(), INVALID.to_owned()),
    };
    TargetError::File { path, why }
}

/// Creates a client that fails fast and never retries: only the watch loop decides about retries.
///
/// # Errors
/// If the configuration's credentials or certificates cannot be used.
pub fn client_for(mut config: kube::Config) -> kube::Result<kube::Client> {
    config.connect_timeout = Some(Duration::from_secs(5));
    config.default_retry = false;
    kube::Client::try_from(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_environment_are_merged_as_by_kubectl() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let config = |current: &str, name: &str| {
            let contexts = [serde_json::json!({ "name": name, "context": { "cluster": "c", "user": "u" } })];
            serde_json::json!({ "current-context": current, "contexts": contexts }).to_string()
        };
        std::fs::write(path("first"), config("", "a")).unwrap();
        std::fs::write(path("second"), config("b", "b")).unwrap();
        std::fs::write(path("damaged"), "contexts: 1").unwrap();
        let read = |names: &[&str]| merge(&std::env::join_paths(names.iter().copied().map(&path)).unwrap());
        let merged = read(&["first", "missing", "second"]).unwrap().unwrap();
        assert_eq!(merged.current_context.as_deref(), Some("b"));
        let names: Vec<&str> = merged.contexts.iter().map(|context| context.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(merge(OsStr::new("")).unwrap().is_none());
        assert_eq!(
            read(&["missing"]).unwrap_err().to_string(),
            format!(
                "cannot read the kubeconfig {}: No such file or directory (os error 2); \
                 set the right file with --kubeconfig or KUBECONFIG",
                path("missing").display()
            )
        );
        let named = format!("cannot read the kubeconfig {}: it is not a valid kubeconfig", path("damaged").display());
        let told = read(&["first", "damaged"]).unwrap_err().to_string();
        assert!(told.starts_with(&named), "{told}");
    }

    #[test]
    fn of_what_a_parser_says_only_the_place_is_told() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for text in ["contexts: []\nusers:\n- secret\n", "contexts: []\nusers:\n- [secret\n"] {
            std::fs::write(file.path(), text).unwrap();
            let told = Contexts::read(Some(file.path())).unwrap_err().to_string();
            assert!(told.contains("it is not a valid kubeconfig, in line ") && !told.contains("secret"), "{told}");
        }
    }
}
