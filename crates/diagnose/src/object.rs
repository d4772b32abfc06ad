//! [`ObjectRef`]: the object that evidence is about.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An object in the namespace of the launch, such as `pod/NAME`. Its JSON is that text.
///
/// It may hold any other text, because failures are also read from annotations, which anyone
/// who can change a ConfigMap can write.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ObjectRef(pub(super) String);

impl ObjectRef {
    /// Returns the reference to a pod.
    pub fn pod(name: &str) -> Self {
        Self(format!("pod/{name}"))
    }

    /// Returns the reference to a Job.
    pub fn job(name: &str) -> Self {
        Self(format!("job/{name}"))
    }

    /// Returns the reference to a Secret.
    pub(super) fn secret(name: &str) -> Self {
        Self(format!("secret/{name}"))
    }

    /// Returns the name of the pod, if the object is one.
    pub fn pod_name(&self) -> Option<&str> {
        self.0.strip_prefix("pod/")
    }

    /// Checks whether the object is a Job.
    pub fn is_job(&self) -> bool {
        self.0.starts_with("job/")
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
