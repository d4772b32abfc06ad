//! [`Change`]: a difference between two catalogs.

use serde::Serialize;

use super::{MAX_CHANGE_TEXT, MAX_CHANGES};

/// A difference between two catalogs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The package. Empty for metas that belong to none.
    pub package: String,
    /// The channel. Empty if the change concerns none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The bundle, or the entry of the channel. Empty if the change concerns none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bundle: String,
    /// What has changed.
    pub subject: Subject,
    /// What the subject is called, such as the type of a property. Empty if the subject is unique.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The old value, or a summary of what was removed. `None` if the subject was added.
    pub old: Option<String>,
    /// The new value, or a summary of what was added. `None` if the subject was removed.
    pub new: Option<String>,
}

impl Change {
    /// Returns the size of its texts, in bytes.
    fn text_size(&self) -> usize {
        let Self { package, channel, bundle, name, old, new, .. } = self;
        let values = [old, new].into_iter().flatten();
        [package, channel, bundle, name].into_iter().chain(values).map(String::len).sum()
    }
}

/// What a change concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Subject {
    /// A package. Its value is the default channel.
    Package,
    /// The default channel of a package.
    DefaultChannel,
    /// A field of a package or a channel, such as the description.
    Field,
    /// A channel. Its value is its head.
    Channel,
    /// The head of a channel.
    Head,
    /// An entry of a channel. Its value is its edges.
    Entry,
    /// The bundle that an entry replaces.
    Replaces,
    /// A bundle that an entry skips.
    Skips,
    /// The range of versions that an entry skips.
    SkipRange,
    /// A bundle. Its value is its version and its image.
    Bundle,
    /// The version of a bundle, with its release.
    Version,
    /// The image of a bundle.
    Image,
    /// A property of a bundle.
    Property,
    /// An image that a bundle uses.
    RelatedImage,
    /// A deprecation. Its value is its message.
    Deprecation,
    /// A meta with a schema that OLM does not know.
    Meta,
    /// The changes that are not listed.
    Others,
}

impl Subject {
    /// Returns the subject in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::DefaultChannel => "default channel",
            Self::Field => "field",
            Self::Channel => "channel",
            Self::Head => "head",
            Self::Entry => "entry",
            Self::Replaces => "replaces",
            Self::Skips => "skips",
            Self::SkipRange => "skipRange",
            Self::Bundle => "bundle",
            Self::Version => "version",
            Self::Image => "image",
            Self::Property => "property",
            Self::RelatedImage => "related image",
            Self::Deprecation => "deprecation of",
            Self::Meta => "meta",
            Self::Others => "further changes",
        }
    }
}

/// A list of changes, with a limit.
#[derive(Debug, Default)]
pub(super) struct Changes {
    listed: Vec<Change>,
    /// The size of the texts of the listed changes, in bytes.
    text: usize,
    n_others: usize,
}

impl Changes {
    pub(super) fn into_vec(self) -> Vec<Change> {
        let Self { mut listed, n_others, .. } = self;
        if n_others > 0 {
            listed.push(Change {
                package: String::new(),
                channel: String::new(),
                bundle: String::new(),
                subject: Subject::Others,
                name: String::new(),
                old: None,
                new: Some(n_others.to_string()),
            });
        }
        listed
    }
}

impl Extend<Change> for Changes {
    fn extend<T: IntoIterator<Item = Change>>(&mut self, changes: T) {
        for change in changes {
            let text = self.text.saturating_add(change.text_size());
            if self.listed.len() < MAX_CHANGES && text <= MAX_CHANGE_TEXT {
                self.text = text;
                self.listed.push(change);
            } else {
                self.n_others += 1;
            }
        }
    }
}
