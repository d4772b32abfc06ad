//! `unlade catalog generate dockerfile`.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use tempfile::Builder;
use unlade_name::ImageReference;

use crate::{args::Dockerfile, error::Error, source::CATALOG_LABEL};

const SCRATCH: &str = "scratch";

/// Writes the Dockerfile beside the directory of the catalog.
pub(super) fn run(args: &Dockerfile) -> Result<(), Error> {
    let Dockerfile { catalog, base_image, builder_image, binary_image, extra_labels } = args;
    let base = binary_image.as_deref().or(base_image.as_deref()).unwrap_or_default();
    let builder = builder_image.as_deref().unwrap_or(base);
    if builder == SCRATCH {
        let message = "the builder image cannot be scratch; set it with --builder-image";
        return Err(Error::Usage(message.to_owned()));
    }
    for image in [base, builder].into_iter().filter(|image| *image != SCRATCH) {
        if let Err(error) = image.parse::<ImageReference>() {
            return Err(Error::Usage(format!("invalid image reference {image}: {error}")));
        }
    }
    let failed = |action, path: &Path, source| Error::File {
        action,
        path: path.display().to_string(),
        source,
    };
    if !fs::metadata(catalog).map_err(|error| failed("open", catalog, error))?.is_dir() {
        return Err(Error::Usage(format!("{} is not a directory", catalog.display())));
    }
    let Some(name) = catalog.file_name().and_then(|name| name.to_str()) else {
        return Err(Error::Usage(format!(
            "{} does not end with the name of a directory",
            catalog.display()
        )));
    };
    let labels: BTreeMap<_, _> = extra_labels.iter().map(|it| (&*it.key, &*it.value)).collect();
    let text = format(base, builder, name, &labels)?;
    let path = catalog.with_file_name(format!("{name}.Dockerfile"));
    create(&path, text.as_bytes()).map_err(|error| failed("create", &path, error))
}

/// Creates a file. It appears when it is complete, because an existing one is never replaced.
fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    let mut file = Builder::new()
        .prefix(".unlade-")
        // The umask applies.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory.unwrap_or(Path::new(".")))?;
    file.write_all(content)?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

fn format(
    base: &str,
    builder: &str,
    name: &str,
    labels: &BTreeMap<&str, &str>,
) -> Result<String, Error> {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "-_.+".contains(character);
    // Docker could read other characters as separators, wildcards, variables or options.
    if name.starts_with('-') || !name.chars().all(is_plain) {
        let message = format!("a Dockerfile cannot copy a directory with the name {name}");
        return Err(Error::Usage(message));
    }
    let mut text = format!(
        "# The builder image contains /bin/opm.\nFROM {builder} as builder\n\n\
         # Copy the catalog, and let opm build its cache.\nADD {name} /configs\n\
         RUN [\"/bin/opm\", \"serve\", \"/configs\", \"--cache-dir=/tmp/cache\", \"--cache-only\"]\n\n\
         FROM {base}\n"
    );
    text.push_str(if base == SCRATCH { WITHOUT_SERVER } else { WITH_SERVER });
    _ = write!(
        text,
        "\nCOPY --from=builder /configs /configs\nCOPY --from=builder /tmp/cache /tmp/cache\n\n\
         # Where the catalog is in the image.\nLABEL {CATALOG_LABEL}=/configs\n"
    );
    for (index, (key, value)) in labels.iter().enumerate() {
        let title = if index == 0 { "\n# Further labels.\n" } else { "" };
        _ = writeln!(text, "{title}LABEL {}={}", quote(key)?, quote(value)?);
    }
    Ok(text)
}

const WITH_SERVER: &str = "# The base image contains /bin/opm and /bin/grpc_health_probe.\n\
                           ENTRYPOINT [\"/bin/opm\"]\n\
                           CMD [\"serve\", \"/configs\", \"--cache-dir=/tmp/cache\"]\n";

const WITHOUT_SERVER: &str = "# The image contains no program. A CatalogSource for it needs:\n\
                              # spec:\n#   grpcPodConfig:\n#     extractContent:\n\
                              #       catalogDir: /configs\n#       cacheDir: /tmp/cache\n";

/// Quotes a key or value of a label.
fn quote(text: &str) -> Result<String, Error> {
    if text.contains(char::is_control) {
        return Err(Error::Usage(format!("a label cannot contain control characters: {text}")));
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        if matches!(character, '"' | '\\' | '$') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPM: &str = "registry.example/opm";

    #[test]
    fn arguments_cannot_add_instructions() {
        let labels = BTreeMap::from([("k", "a\"$b\\")]);
        let text = format(SCRATCH, OPM, "catalog", &labels).unwrap();
        assert!(text.ends_with("LABEL \"k\"=\"a\\\"\\$b\\\\\"\n"), "{text}");
        for name in ["a b", "-a", "a\nRUN x", "$HOME", "*"] {
            assert!(format(SCRATCH, OPM, name, &BTreeMap::new()).is_err(), "{name}");
        }
        let labels = BTreeMap::from([("k", "a\nRUN x")]);
        assert!(format(SCRATCH, OPM, "catalog", &labels).is_err());
    }
}
