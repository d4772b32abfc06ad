//! The methods that find entries by an API or by a replaced bundle.

use std::iter;
use std::sync::Arc;

use tonic::{Response, Status};
use unlade_bundle::property::Gvk;

use super::{Responses, send};
use crate::codec::Message;
use crate::index::{Index, Located, Missing};
use crate::message::ChannelEntry;

/// The entries that a method sends.
pub(super) enum Wanted {
    /// The entries that replace or skip a bundle.
    Replacing(String),
    /// The entries that provide an API, one for each bundle that they replace or skip.
    Providing(Gvk),
    /// The same for the heads of channels, and for bundles of their channels.
    LatestProviding(Gvk),
}

impl Wanted {
    /// Sends the entries. Together, they can be much larger than the catalog, because each repeats
    /// the name of its channel.
    pub(super) fn send(self, index: Arc<Index>) -> Result<Response<Responses>, Status> {
        if self.edges(&index).next().is_none() {
            return Err(self.missing().into());
        }
        Ok(send(async move |mut sender| {
            for (located, replaces) in self.edges(&index) {
                sender.send(encode(&located, replaces)).await?;
            }
            Some(())
        }))
    }

    /// Returns the entries, each with the bundle that it replaces in its message.
    fn edges<'i>(&'i self, index: &'i Index) -> impl Iterator<Item = (Located<'i>, &'i str)> {
        index.entries().flat_map(move |located| {
            let replaces = located.entry.replaces.as_str();
            let n = self.count(index, &located);
            let skips = located.entry.skips.iter().filter(move |skip| {
                n > 0 && *skip != replaces && self.takes_skipped(&located, skip)
            });
            iter::repeat_n(replaces, n).chain(skips).map(move |replaces| (located, replaces))
        })
    }

    /// Returns how often an entry is sent with the bundle that it replaces.
    fn count(&self, index: &Index, located: &Located<'_>) -> usize {
        let entry = located.entry;
        match self {
            Self::Replacing(name) if entry.replaces == *name => 1,
            Self::Replacing(name) => entry.skips.iter().filter(|skip| skip == name).count(),
            Self::Providing(api) => index.provides(entry, api).into(),
            Self::LatestProviding(api) => (located.is_head() && index.provides(entry, api)).into(),
        }
    }

    /// Checks whether an entry is also sent with a bundle that it skips.
    fn takes_skipped(&self, located: &Located<'_>, skip: &str) -> bool {
        match self {
            Self::Replacing(_) => false,
            Self::Providing(_) => true,
            Self::LatestProviding(_) => located.channel.entries.contains_key(skip),
        }
    }

    fn missing(self) -> Missing {
        match self {
            Self::Replacing(name) => Missing::Replacements(name),
            Self::Providing(api) | Self::LatestProviding(api) => Missing::Providers(api),
        }
    }
}

fn encode(located: &Located<'_>, replaces: &str) -> Message {
    let entry = ChannelEntry {
        package_name: located.package_name.to_owned(),
        channel_name: located.channel_name.to_owned(),
        bundle_name: located.name.to_owned(),
        replaces: replaces.to_owned(),
    };
    Message::from(&entry)
}
