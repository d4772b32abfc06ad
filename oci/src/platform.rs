//! [`Platform`]: the platform of an image, and the platforms that can replace each other.

use std::env::consts;
use std::fmt;
use std::str::FromStr;

/// An operating system, an architecture and an optional variant, by their names in Go.
///
/// ```
/// use unlade_oci::Platform;
///
/// let platform: Platform = "linux/arm64/v8".parse()?;
/// assert_eq!(platform.architecture, "arm64");
/// # Ok::<(), unlade_oci::platform::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// The operating system (GOOS), such as `linux`.
    pub os: String,
    /// The architecture (GOARCH), such as `amd64`.
    pub architecture: String,
    /// The variant of the architecture, such as `v7` of `arm`.
    pub variant: Option<String>,
}

/// An error: the text is not a platform.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not of the form os/architecture[/variant]")]
pub struct Error {
    /// The text.
    pub text: String,
}

impl Platform {
    /// Returns the platform of this machine.
    pub fn host() -> Self {
        let os = match consts::OS {
            "macos" => "darwin",
            os => os,
        };
        let architecture = match consts::ARCH {
            "x86" => "386",
            "powerpc64" if cfg!(target_endian = "little") => "ppc64le",
            "powerpc64" => "ppc64",
            "loongarch64" => "loong64",
            architecture => go_architecture(architecture),
        };
        Self { os: os.to_owned(), architecture: architecture.to_owned(), variant: None }
    }

    /// Returns the platforms that are compatible with this one, best first.
    ///
    /// The order of variants is the same as in containers/image (`internal/pkg/platform`): the
    /// variant itself, then lower ones, then none.
    pub(crate) fn acceptable(&self) -> Vec<Self> {
        let with = |variant: Option<&str>| Self {
            variant: variant.map(str::to_owned),
            os: self.os.clone(),
            architecture: self.architecture.clone(),
        };
        let known: &[&str] = match self.architecture.as_str() {
            "arm" => &["v7", "v6", "v5"],
            "arm64" => &["v8"],
            _ => &[],
        };
        match self.variant.as_deref() {
            Some(variant) => {
                let position = known.iter().position(|v| *v == variant);
                let lesser = known.iter().skip(position.map_or(known.len(), |at| at + 1));
                [Some(variant)]
                    .into_iter()
                    .chain(lesser.map(|v| Some(*v)))
                    .chain([None])
                    .map(with)
                    .collect()
            }
            None if self.architecture == "arm64" => vec![with(None), with(Some("v8"))],
            None => vec![with(None)],
        }
    }
}

impl FromStr for Platform {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let error = || Error { text: text.to_owned() };
        let mut parts = text.split('/').map(str::to_ascii_lowercase);
        let os = parts.next().filter(|part| !part.is_empty()).ok_or_else(error)?;
        let architecture = parts.next().filter(|part| !part.is_empty()).ok_or_else(error)?;
        let variant = parts.next();
        if parts.next().is_some() || variant.as_deref() == Some("") {
            return Err(error());
        }
        let architecture = go_architecture(&architecture).to_owned();
        Ok(Self { os, architecture, variant })
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.iter().try_for_each(|variant| write!(f, "/{variant}"))
    }
}

/// Returns the Go name of an architecture, for which other names are common.
fn go_architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(text: &str) -> Platform {
        text.parse().unwrap()
    }

    #[test]
    fn platforms_are_read_and_written() {
        for text in ["linux/amd64", "linux/arm/v7", "windows/amd64"] {
            assert_eq!(platform(text).to_string(), text);
        }
        assert_eq!(platform("Linux/aarch64"), platform("linux/arm64"));
        for text in ["", "linux", "linux/", "/amd64", "linux/arm/v7/x", "linux/arm/"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }

    #[test]
    fn lower_variants_match() {
        let texts =
            |text| platform(text).acceptable().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts("linux/arm/v6"), ["linux/arm/v6", "linux/arm/v5", "linux/arm"]);
        assert_eq!(texts("linux/arm64"), ["linux/arm64", "linux/arm64/v8"]);
        assert_eq!(texts("linux/amd64"), ["linux/amd64"]);
        assert_eq!(texts("linux/amd64/v3"), ["linux/amd64/v3", "linux/amd64"]);
    }

    #[test]
    fn the_host_has_go_names() {
        let host = Platform::host();
        assert!(!["x86_64", "aarch64", "macos"].contains(&host.architecture.as_str()), "{host}");
        assert_eq!(platform(&host.to_string()), host);
    }
}
