//! [`Rule`]: the rules of a catalog.

use serde::Serialize;

use crate::problem::Severity;

/// Defines [`Rule`] from one list, so that a rule cannot lack anything. Each rule has its name, its
/// severity, the violation in one sentence, and what to do about it.
macro_rules! rules {
    ($($rule:ident $name:literal $severity:ident: $summary:literal, $remedy:literal;)+) => {
        /// A rule of a catalog. Its name is stable, so that programs can match on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = concat!($summary, ".")]
            #[serde(rename = $name)]
            $rule,)+
        }

        impl Rule {
            /// Returns all rules.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$rule),+].into_iter()
            }

            /// Returns the name of the rule.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$rule => $name,)+
                }
            }

            /// Returns `Error` if a catalog that violates the rule is invalid, and `Warning`
            /// otherwise.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$rule => Severity::$severity,)+
                }
            }

            /// Returns the violation in one sentence without a full stop.
            pub fn summary(self) -> &'static str {
                match self {
                    $(Self::$rule => $summary,)+
                }
            }

            /// Returns what to do about a violation.
            pub fn remedy(self) -> &'static str {
                match self {
                    $(Self::$rule => $remedy,)+
                }
            }
        }
    };
}

rules! {
    Unreadable "unreadable" Error:
        "A file of the catalog cannot be read",
        "make the file readable, or list it in .indexignore";
    Limit "limit" Error:
        "A document or the catalog exceeds a limit",
        "split the document or the catalog, or remove objects";
    Syntax "syntax" Error:
        "A document is neither YAML nor JSON",
        "correct the syntax; if the file is not a part of the catalog, list it in .indexignore";
    NotAMeta "not-a-meta" Error:
        "A document is not an object with a schema",
        "add a schema, or remove the document: a comment before the first --- is a document too";
    FieldType "field-type" Error:
        "A field has a value of the wrong type",
        "correct the value; quote text that looks like a number or a boolean";
    BundleObject "bundle-object" Error:
        "An object of a bundle cannot be decoded",
        "correct the olm.bundle.object property";
    PropertyValue "property-value" Error:
        "The value of a property does not match its type",
        "correct the value of the property";
    PackageName "package-name" Error:
        "A package has no valid name",
        "use lowercase letters, digits and dashes, at most 63 of them";
    DuplicatePackage "duplicate-package" Error:
        "Two packages have the same name",
        "remove one of them";
    UnknownPackage "unknown-package" Error:
        "A channel, a bundle or a deprecation names a package that is not in the catalog",
        "add the olm.package, or correct the name of the package";
    DefaultChannel "default-channel" Error:
        "A package has no default channel, or its default channel does not exist",
        "set defaultChannel to a channel of the package";
    NoChannel "no-channel" Error:
        "A package has no channel",
        "add an olm.channel";
    ChannelName "channel-name" Error:
        "A channel has no name",
        "give the channel a name";
    DuplicateChannel "duplicate-channel" Error:
        "Two channels of a package have the same name",
        "remove one of them";
    NoEntries "no-entries" Error:
        "A channel has no entries",
        "add an entry, or remove the channel";
    DuplicateEntry "duplicate-entry" Error:
        "A channel has two entries with the same name",
        "merge the entries";
    EntryWithoutBundle "entry-without-bundle" Error:
        "An entry of a channel has no bundle",
        "add the olm.bundle, or remove the entry";
    EmptySkip "empty-skip" Error:
        "An entry skips an empty name",
        "remove the empty name from skips";
    SkipRange "skip-range" Error:
        "The skipRange of an entry is not a range of versions",
        "use a range of full versions, such as >=1.0.0 <1.2.0";
    NoHead "no-head" Error:
        "A channel has no head",
        "make sure that no entry replaces or skips the newest entry";
    SeveralHeads "several-heads" Error:
        "A channel has several heads",
        "make the newest entry replace or skip the other heads";
    Cycle "cycle" Error:
        "The replacements of a channel form a cycle",
        "remove one of the replacements";
    Stranded "stranded" Error:
        "No upgrade leads from an entry to the head of its channel",
        "make an entry of the chain replace or skip this entry, or remove this entry";
    BundleName "bundle-name" Error:
        "A bundle has no name, or its release requires another name",
        "give the bundle a name; if it has a release, the name must be PACKAGE-vVERSION-RELEASE";
    DuplicateBundle "duplicate-bundle" Error:
        "Two bundles of a package have the same name",
        "remove one of them";
    BundleWithoutEntry "bundle-without-entry" Error:
        "No channel has an entry for a bundle",
        "add an entry to a channel, or remove the bundle";
    PackageProperty "package-property" Error:
        "A bundle does not have exactly one olm.package property with the name of its package",
        "give the bundle one olm.package property with its package and version";
    Image "image" Error:
        "A bundle has neither an image nor objects",
        "set the image of the bundle";
    ImageReference "image-reference" Error:
        "An image reference is invalid",
        "use a reference such as registry.example/team/bundle:v1.0.0";
    Version "version" Error:
        "The version of a bundle is invalid",
        "use a version such as 1.2.3, without the letter v";
    Release "release" Error:
        "The release of a bundle is invalid, or its version has build metadata too",
        "use a release such as 1, and a version without build metadata";
    DuplicateVersion "duplicate-version" Error:
        "Two bundles of a package have the same version",
        "give each bundle its own version or release";
    DeprecationPackage "deprecation-package" Error:
        "Deprecations have no package, or a package has two olm.deprecations",
        "keep one olm.deprecations for each package";
    DeprecationReference "deprecation-reference" Error:
        "A deprecation does not refer to a package, channel or bundle that exists",
        "correct the schema and the name of the reference";
    DeprecationMessage "deprecation-message" Error:
        "A deprecation has no message",
        "tell users what to use instead";
    LostDocument "lost-document" Warning:
        "A reader silently drops a part of the file",
        "put a line with --- before each document";
    UnknownField "unknown-field" Warning:
        "A field is unknown, so its value is dropped",
        "correct the name of the field, or remove it";
    LostMeta "lost-meta" Warning:
        "A document has no package, so it is dropped when the catalog is rendered",
        "name the package of the document";
    Requirement "requirement" Warning:
        "A bundle requires a package with an invalid version range, or does not name the package",
        "use a package and a range such as >=1.0.0 <2.0.0";
    Api "api" Warning:
        "An API that a bundle provides or requires has no group, version or kind",
        "add the missing part to the property";
    Constraint "constraint" Warning:
        "A constraint is invalid, so OLM cannot install the bundle",
        "use one of gvk, package, all, any, not and cel";
    CsvMetadata "csv-metadata" Warning:
        "A bundle has several olm.csv.metadata properties",
        "keep one of them";
    Downgrade "downgrade" Warning:
        "An entry replaces a bundle with a higher version",
        "check that the downgrade is intended";
    Unlisted "unlisted" Error:
        "The catalog has more problems than are listed",
        "correct the problems that are listed first";
}

impl Rule {
    /// Returns whether `opm` can do nothing at all with a catalog that violates the rule, because
    /// it cannot load it. The other rules are only those of `opm validate`.
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_the_name_of_its_variant() {
        for rule in Rule::all() {
            let letters = rule.name().replace('-', "");
            assert_eq!(letters, format!("{rule:?}").to_lowercase());
        }
    }
}
