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
    /// variant itself, then lower ones, then none. Without a variant, none is first.
    pub(crate) fn acceptable(&self) -> Vec<Self> {
        let with = |variant: Option<&str>| Self {
            variant: variant.map(str::to_owned),
            os: self.os.clone(),
            architecture: self.architecture.clone(),
        };
        let known = self.known_variants();
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
            None => [None].into_iter().chain(known.iter().map(|v| Some(*v))).map(with).collect(),
        }
    }

    /// Returns the platforms of the nodes that this one can mean: containers/image detects the
    /// variant of the processor.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = Self> {
        let known = if self.variant.is_none() { self.known_variants() } else { &[] };
        known.iter().map(|variant| Self { variant: Some((*variant).to_owned()), ..self.clone() })
    }

    /// Returns the variants that containers/image knows, best first.
    fn known_variants(&self) -> &'static [&'static str] {
        match self.architecture.as_str() {
            "arm" => &["v8", "v7", "v6", "v5"],
            "arm64" => &["v8"],
            _ => &[],
        }
    }

    /// Returns the platform as containerd normalises it (`platforms.Normalize`). Empty names are
    /// those of a Linux node.
    pub(crate) fn normal(&self) -> Self {
        let os = match self.os.to_ascii_lowercase().as_str() {
            "" => "linux".to_owned(),
            "macos" => "darwin".to_owned(),
            os => os.to_owned(),
        };
        let architecture = self.architecture.to_ascii_lowercase();
        let variant = self.variant.as_deref().unwrap_or_default().to_ascii_lowercase();
        let (architecture, variant) = match (architecture.as_str(), variant.as_str()) {
            ("i386", _) => ("386", ""),
            ("x86_64" | "x86-64" | "amd64", "v1") => ("amd64", ""),
            ("aarch64" | "arm64", "8" | "v8") => ("arm64", ""),
            ("armhf", _) | ("arm", "" | "7") => ("arm", "v7"),
            ("armel", _) | ("arm", "6") => ("arm", "v6"),
            ("arm", "5") => ("arm", "v5"),
            ("arm", "8") => ("arm", "v8"),
            (architecture, variant) => (go_architecture(architecture), variant),
        };
        Self { os, ..Self::with(architecture, variant) }
    }

    /// Returns the normal platforms whose images containerd accepts for this one, best first
    /// (`platforms.Only`).
    pub(crate) fn compatible(&self) -> Vec<Self> {
        const ARM: [(&str, &str); 5] =
            [("arm64", ""), ("arm", "v8"), ("arm", "v7"), ("arm", "v6"), ("arm", "v5")];
        const X86: [(&str, &str); 4] =
            [("amd64", "v3"), ("amd64", "v2"), ("amd64", ""), ("386", "")];
        let normal = self.normal();
        let older: &[_] = match normal.architecture.as_str() {
            "amd64" => &X86,
            "arm64" | "arm" => &ARM,
            _ => &[],
        };
        let mut older: Vec<_> = older
            .iter()
            .map(|(architecture, variant)| Self {
                os: normal.os.clone(),
                ..Self::with(architecture, variant)
            })
            .collect();
        if let Some(at) = older.iter().position(|platform| *platform == normal) {
            older.drain(..=at);
        }
        older.insert(0, normal);
        older
    }

    fn with(architecture: &str, variant: &str) -> Self {
        let variant = Some(variant.to_owned()).filter(|variant| !variant.is_empty());
        Self { os: String::new(), architecture: architecture.to_owned(), variant }
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
        "x86_64" | "x86-64" => "amd64",
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
        assert_eq!(texts("linux/arm/v8").len(), 5);
        assert_eq!(texts("linux/arm")[..2], ["linux/arm", "linux/arm/v8"]);
        assert_eq!(texts("linux/arm").len(), 5);
        assert_eq!(texts("linux/arm64"), ["linux/arm64", "linux/arm64/v8"]);
        assert_eq!(texts("linux/amd64"), ["linux/amd64"]);
        assert_eq!(texts("linux/amd64/v3"), ["linux/amd64/v3", "linux/amd64"]);
    }

    #[test]
    fn platforms_are_normalised_as_in_containerd() {
        let normal = |text: &str| {
            let mut parts = text.split('/').map(str::to_owned);
            let [os, architecture] = [(); 2].map(|()| parts.next().unwrap());
            Platform { os, architecture, variant: parts.next() }.normal().to_string()
        };
        for (text, expected) in [
            ("linux/x86_64", "linux/amd64"),
            ("linux/x86-64/v1", "linux/amd64"),
            ("/AMD64/V2", "linux/amd64/v2"),
            ("Linux/i386/x", "linux/386"),
            ("linux/aarch64/8", "linux/arm64"),
            ("linux/arm64/v8", "linux/arm64"),
            ("linux/arm64/v9", "linux/arm64/v9"),
            ("linux/arm", "linux/arm/v7"),
            ("linux/arm/6", "linux/arm/v6"),
            ("linux/armhf", "linux/arm/v7"),
            ("linux/armel/v7", "linux/arm/v6"),
            ("macOS/s390x/z", "darwin/s390x/z"),
        ] {
            assert_eq!(normal(text), expected, "{text}");
        }
    }

    #[test]
    fn images_for_older_processors_are_compatible_as_in_containerd() {
        let texts =
            |text| platform(text).compatible().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(texts("linux/amd64"), ["linux/amd64", "linux/386"]);
        let x86 = ["linux/amd64/v3", "linux/amd64/v2", "linux/amd64", "linux/386"];
        assert_eq!(texts("linux/amd64/v3"), x86);
        assert_eq!(texts("linux/amd64/v4")[1..], x86);
        assert_eq!(texts("linux/arm"), ["linux/arm/v7", "linux/arm/v6", "linux/arm/v5"]);
        assert_eq!(texts("linux/arm64").len(), 5);
        assert_eq!(texts("linux/s390x"), ["linux/s390x"]);
    }

    #[test]
    fn the_host_has_go_names() {
        let host = Platform::host();
        assert!(!["x86_64", "aarch64", "macos"].contains(&host.architecture.as_str()), "{host}");
        assert_eq!(platform(&host.to_string()), host);
    }
}
