//! [`Rule`]: the rules of a catalog.

use serde::Serialize;

use crate::problem::Severity;

/// A rule of a catalog. Its name is stable, so that programs can match on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Rule {
    /// A file of the catalog cannot be read.
    Unreadable,
    /// A document or the catalog exceeds a limit.
    Limit,
    /// A document is neither YAML nor JSON.
    Syntax,
    /// A document is not an object with a schema.
    NotAMeta,
    /// A field has a value of the wrong type.
    FieldType,
    /// An object of a bundle cannot be decoded.
    BundleObject,
    /// The value of a property does not match its type.
    PropertyValue,
    /// A package has no valid name.
    PackageName,
    /// Two packages have the same name.
    DuplicatePackage,
    /// A channel, a bundle or a deprecation names a package that is not in the catalog.
    UnknownPackage,
    /// A package has no default channel, or its default channel does not exist.
    DefaultChannel,
    /// A package has no channel.
    NoChannel,
    /// A channel has no name.
    ChannelName,
    /// Two channels of a package have the same name.
    DuplicateChannel,
    /// A channel has no entries.
    NoEntries,
    /// A channel has two entries with the same name.
    DuplicateEntry,
    /// An entry of a channel has no bundle.
    EntryWithoutBundle,
    /// An entry skips an empty name.
    EmptySkip,
    /// The skipRange of an entry is not a range of versions.
    SkipRange,
    /// A channel has no head.
    NoHead,
    /// A channel has several heads.
    SeveralHeads,
    /// The replacements of a channel form a cycle.
    Cycle,
    /// No upgrade leads from an entry to the head of its channel.
    Stranded,
    /// A bundle has no name, or its release requires another name.
    BundleName,
    /// Two bundles of a package have the same name.
    DuplicateBundle,
    /// No channel has an entry for a bundle.
    BundleWithoutEntry,
    /// A bundle does not have exactly one olm.package property with the name of its package.
    PackageProperty,
    /// A bundle has neither an image nor objects.
    Image,
    /// The reference of an image is invalid.
    ImageReference,
    /// The version of a bundle is invalid.
    Version,
    /// The release of a bundle is invalid, or its version has build metadata too.
    Release,
    /// Two bundles of a package have the same version.
    DuplicateVersion,
    /// Deprecations have no package, or a package has two olm.deprecations.
    DeprecationPackage,
    /// A deprecation does not refer to a package, channel or bundle that exists.
    DeprecationReference,
    /// A deprecation has no message.
    DeprecationMessage,
    /// A reader silently drops a part of the file.
    LostDocument,
    /// A field is unknown, so its value is dropped.
    UnknownField,
    /// A meta has no package, so it is lost when the catalog is rendered.
    LostMeta,
    /// A bundle requires a package with an invalid version range, or does not name the package.
    Requirement,
    /// An API that a bundle provides or requires has no group, version or kind.
    Api,
    /// A constraint cannot be parsed.
    Constraint,
    /// A bundle has several olm.csv.metadata properties.
    CsvMetadata,
    /// An entry replaces a bundle with a higher version.
    Downgrade,
}

impl Rule {
    /// Returns all rules.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(rule, ..)| *rule)
    }

    /// Returns the name of the rule.
    pub fn name(self) -> &'static str {
        self.info().0
    }

    /// Returns the violation in one sentence without a full stop.
    pub fn summary(self) -> &'static str {
        self.info().1
    }

    /// Returns what to do about a violation.
    pub fn remedy(self) -> &'static str {
        self.info().2
    }

    /// Returns whether `opm` refuses a catalog that violates the rule.
    pub fn severity(self) -> Severity {
        match self {
            Self::LostDocument
            | Self::UnknownField
            | Self::LostMeta
            | Self::Requirement
            | Self::Api
            | Self::Constraint
            | Self::CsvMetadata
            | Self::Downgrade => Severity::Warning,
            _ => Severity::Error,
        }
    }

    /// Returns whether `opm` can do nothing at all with a catalog that violates the rule, because it
    /// cannot load it. The other rules are only those of `opm validate`.
    pub fn prevents_loading(self) -> bool {
        matches!(
            self,
            Self::Unreadable
                | Self::Limit
                | Self::Syntax
                | Self::NotAMeta
                | Self::FieldType
                | Self::BundleObject
        )
    }

    /// Returns the name, the summary and the remedy.
    fn info(self) -> (&'static str, &'static str, &'static str) {
        let row = TABLE.iter().find(|(rule, ..)| *rule == self);
        row.map_or(("", "", ""), |(_, name, summary, remedy)| (name, summary, remedy))
    }
}

/// The name, the summary and the remedy of each rule.
const TABLE: &[(Rule, &str, &str, &str)] = &[
    (
        Rule::Unreadable,
        "unreadable",
        "A file of the catalog cannot be read",
        "make the file readable, or list it in .indexignore",
    ),
    (
        Rule::Limit,
        "limit",
        "A document or the catalog exceeds a limit",
        "split the document or the catalog, or remove objects",
    ),
    (
        Rule::Syntax,
        "syntax",
        "A document is neither YAML nor JSON",
        "correct the syntax; if the file is not a part of the catalog, list it in .indexignore",
    ),
    (
        Rule::NotAMeta,
        "not-a-meta",
        "A document is not an object with a schema",
        "add a schema, or remove the document: a comment before the first --- is a document too",
    ),
    (
        Rule::FieldType,
        "field-type",
        "A field has a value of the wrong type",
        "correct the value; quote text that looks like a number or a boolean",
    ),
    (
        Rule::BundleObject,
        "bundle-object",
        "An object of a bundle cannot be decoded",
        "correct the olm.bundle.object property",
    ),
    (
        Rule::PropertyValue,
        "property-value",
        "The value of a property does not match its type",
        "correct the value of the property",
    ),
    (
        Rule::PackageName,
        "package-name",
        "A package has no valid name",
        "use lowercase letters, digits and dashes, at most 63 of them",
    ),
    (
        Rule::DuplicatePackage,
        "duplicate-package",
        "Two packages have the same name",
        "remove one of them",
    ),
    (
        Rule::UnknownPackage,
        "unknown-package",
        "A channel, a bundle or a deprecation names a package that is not in the catalog",
        "add the olm.package, or correct the name of the package",
    ),
    (
        Rule::DefaultChannel,
        "default-channel",
        "A package has no default channel, or its default channel does not exist",
        "set defaultChannel to a channel of the package",
    ),
    (Rule::NoChannel, "no-channel", "A package has no channel", "add an olm.channel"),
    (Rule::ChannelName, "channel-name", "A channel has no name", "give the channel a name"),
    (
        Rule::DuplicateChannel,
        "duplicate-channel",
        "Two channels of a package have the same name",
        "remove one of them",
    ),
    (
        Rule::NoEntries,
        "no-entries",
        "A channel has no entries",
        "add an entry, or remove the channel",
    ),
    (
        Rule::DuplicateEntry,
        "duplicate-entry",
        "A channel has two entries with the same name",
        "merge the entries",
    ),
    (
        Rule::EntryWithoutBundle,
        "entry-without-bundle",
        "An entry of a channel has no bundle",
        "add the olm.bundle, or remove the entry",
    ),
    (
        Rule::EmptySkip,
        "empty-skip",
        "An entry skips an empty name",
        "remove the empty name from skips",
    ),
    (
        Rule::SkipRange,
        "skip-range",
        "The skipRange of an entry is not a range of versions",
        "use full versions, such as >=1.0.0 <1.2.0",
    ),
    (
        Rule::NoHead,
        "no-head",
        "A channel has no head",
        "make sure that no entry replaces or skips the newest entry",
    ),
    (
        Rule::SeveralHeads,
        "several-heads",
        "A channel has several heads",
        "make the newest entry replace or skip the other heads",
    ),
    (
        Rule::Cycle,
        "cycle",
        "The replacements of a channel form a cycle",
        "remove one of the replacements",
    ),
    (
        Rule::Stranded,
        "stranded",
        "No upgrade leads from an entry to the head of its channel",
        "make an entry of the chain replace or skip this entry, or remove this entry",
    ),
    (
        Rule::BundleName,
        "bundle-name",
        "A bundle has no name, or its release requires another name",
        "name the bundle PACKAGE-vVERSION-RELEASE if it has a release",
    ),
    (
        Rule::DuplicateBundle,
        "duplicate-bundle",
        "Two bundles of a package have the same name",
        "remove one of them",
    ),
    (
        Rule::BundleWithoutEntry,
        "bundle-without-entry",
        "No channel has an entry for a bundle",
        "add an entry to a channel, or remove the bundle",
    ),
    (
        Rule::PackageProperty,
        "package-property",
        "A bundle does not have exactly one olm.package property with the name of its package",
        "give the bundle one olm.package property with its package and version",
    ),
    (
        Rule::Image,
        "image",
        "A bundle has neither an image nor objects",
        "set the image of the bundle",
    ),
    (
        Rule::ImageReference,
        "image-reference",
        "The reference of an image is invalid",
        "correct the reference, such as registry.example/team/bundle:v1.0.0",
    ),
    (
        Rule::Version,
        "version",
        "The version of a bundle is invalid",
        "use a version such as 1.2.3, without the letter v",
    ),
    (
        Rule::Release,
        "release",
        "The release of a bundle is invalid, or its version has build metadata too",
        "use a release such as 1, and a version without build metadata",
    ),
    (
        Rule::DuplicateVersion,
        "duplicate-version",
        "Two bundles of a package have the same version",
        "give each bundle its own version or release",
    ),
    (
        Rule::DeprecationPackage,
        "deprecation-package",
        "Deprecations have no package, or a package has two olm.deprecations",
        "keep one olm.deprecations for each package",
    ),
    (
        Rule::DeprecationReference,
        "deprecation-reference",
        "A deprecation does not refer to a package, channel or bundle that exists",
        "correct the schema and the name of the reference",
    ),
    (
        Rule::DeprecationMessage,
        "deprecation-message",
        "A deprecation has no message",
        "tell users what to use instead",
    ),
    (
        Rule::LostDocument,
        "lost-document",
        "A reader silently drops a part of the file",
        "put each document behind a line with ---",
    ),
    (
        Rule::UnknownField,
        "unknown-field",
        "A field is unknown, so its value is dropped",
        "correct the name of the field, or remove it",
    ),
    (
        Rule::LostMeta,
        "lost-meta",
        "A document has no package, so it is dropped when the catalog is rendered",
        "name the package of the document",
    ),
    (
        Rule::Requirement,
        "requirement",
        "A bundle requires a package with an invalid version range, or does not name the package",
        "use a package and a range such as >=1.0.0 <2.0.0",
    ),
    (
        Rule::Api,
        "api",
        "An API that a bundle provides or requires has no group, version or kind",
        "add the missing part to the property",
    ),
    (
        Rule::Constraint,
        "constraint",
        "A constraint is invalid, so OLM cannot install the bundle",
        "use one of gvk, package, all, any, not and cel",
    ),
    (
        Rule::CsvMetadata,
        "csv-metadata",
        "A bundle has several olm.csv.metadata properties",
        "keep one of them",
    ),
    (
        Rule::Downgrade,
        "downgrade",
        "An entry replaces a bundle with a higher version",
        "check that the downgrade is intended",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_in_the_list_under_its_name() {
        for (index, rule) in Rule::all().enumerate() {
            assert_eq!(rule as usize, index);
            let letters = rule.name().replace('-', "");
            assert_eq!(letters, format!("{rule:?}").to_lowercase());
        }
        // The last rule of the enumeration.
        assert_eq!(Rule::all().last(), Some(Rule::Downgrade));
    }
}
