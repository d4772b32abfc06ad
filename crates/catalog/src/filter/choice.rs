//! [`Choice`]: which versions of a package are kept.

use std::str::FromStr;

use unlade_bundle::version::{Range, range};

/// Which versions of a package are kept: `PACKAGE[:CHANNEL[,CHANNEL]...][@RANGE]`.
///
/// ```
/// use unlade_catalog::filter::{Channels, Choice};
///
/// let choice: Choice = "etcd:stable,fast@>=1.0.0 <2.0.0".parse()?;
/// assert_eq!(choice.package, "etcd");
/// assert_eq!(choice.channels, Channels::Named(vec!["stable".into(), "fast".into()]));
/// # Ok::<(), unlade_catalog::filter::BadChoice>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The package.
    pub package: String,
    /// The channels.
    pub channels: Channels,
    /// The versions in each channel.
    pub versions: Versions,
}

/// Which channels of a package are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Channels {
    /// All channels.
    All,
    /// The default channel.
    Default,
    /// The channels with these names.
    Named(Vec<String>),
}

/// Which versions of a channel are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Versions {
    /// All versions.
    All,
    /// The head of the channel.
    Head,
    /// The versions in a range.
    Range(Range),
}

/// The reason why a text is not a [`Choice`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadChoice {
    /// A name is empty.
    #[error("expected PACKAGE[:CHANNEL[,CHANNEL]...][@RANGE]")]
    Syntax,
    /// The versions are not a range.
    #[error("invalid version range")]
    Range(#[source] range::Error),
}

impl FromStr for Versions {
    type Err = BadChoice;

    /// Parses a range.
    fn from_str(text: &str) -> Result<Self, BadChoice> {
        text.parse().map(Self::Range).map_err(BadChoice::Range)
    }
}

impl FromStr for Choice {
    type Err = BadChoice;

    fn from_str(text: &str) -> Result<Self, BadChoice> {
        let (names, versions) = match text.split_once('@') {
            Some((names, versions)) => (names, versions.parse()?),
            None => (text, Versions::All),
        };
        let (package, channels) = match names.split_once(':') {
            Some((package, channels)) => {
                let names: Vec<_> = channels.split(',').map(str::to_owned).collect();
                if names.iter().any(String::is_empty) {
                    return Err(BadChoice::Syntax);
                }
                (package, Channels::Named(names))
            }
            None => (names, Channels::All),
        };
        if package.is_empty() {
            return Err(BadChoice::Syntax);
        }
        Ok(Self { package: package.to_owned(), channels, versions })
    }
}
