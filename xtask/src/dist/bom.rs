//! The bill of materials of a program: CycloneDX 1.5, as JSON.
//!
//! It has neither a date nor a serial number, so that the same program has the same bill.

use std::{fs, path::Path, str::FromStr};

use cyclonedx_bom::{
    external_models::uri::Uri as Url,
    models::{
        bom::{Bom, SpecVersion},
        component::{Classification, Component, Components, Cpe},
        dependency::{Dependencies, Dependency},
        external_reference::{ExternalReference, ExternalReferenceType, ExternalReferences, Uri},
        hash::{Hash, HashAlgorithm, HashValue, Hashes},
        license::{LicenseChoice, Licenses},
        metadata::Metadata,
        property::{Properties, Property},
    },
    prelude::{NormalizedString, Purl, SpdxExpression, Validate},
};
use sha2::{Digest, Sha256};
use unlade_text::hex;

use super::{Program, native::STANDARD_LIBRARY, part::Part};
use crate::command::Error;

/// Writes the bill of materials of `program`, which was built as `built`, to `path`.
///
/// Fails if its package does not occur exactly once among the parts, if the document is not valid,
/// or if the program names a crate that is not in the document.
pub(super) fn write(
    program: &Program,
    built: &Path,
    target: &str,
    parts: &[Part],
    path: &Path,
) -> Result<(), Error> {
    let bytes = fs::read(built).map_err(Error::file(built))?;
    check_crates(&bytes, parts)?;
    let bom = bom(program, &bytes, target, parts)?;
    let result = bom.validate_version(SpecVersion::V1_5);
    if result.has_errors() {
        return Err(Error::Found(format!("the bill of materials is not valid: {result:?}")));
    }
    let mut json = Vec::new();
    bom.output_as_json_v1_5(&mut json).map_err(|error| {
        Error::Found(format!("failed to write the bill of materials as JSON: {error}"))
    })?;
    json.push(b'\n');
    fs::write(path, json).map_err(Error::file(path))
}

fn bom(program: &Program, bytes: &[u8], target: &str, parts: &[Part]) -> Result<Bom, Error> {
    let package = program.package;
    let whole = parts.iter().find(|part| part.name == package);
    let whole = whole.ok_or_else(|| Error::Found(format!("{package} is not one of its parts")))?;
    let mut root = component(whole, Classification::Application)?;
    root.name = NormalizedString::new(program.name);
    root.hashes = Some(sha256(hex(&Sha256::digest(bytes))));
    let target = Property::new("unlade:target", target);
    root.properties = Some(Properties(vec![target]));
    let others = parts.iter().filter(|part| part.name != package);
    let components: Vec<_> =
        others.map(|part| component(part, Classification::Library)).collect::<Result<_, _>>()?;
    let standard_library = parts.iter().find(|part| part.name == STANDARD_LIBRARY);
    let dependencies = parts.iter().map(|part| {
        let mut uses = part.uses.clone();
        // Every crate depends on these; the program represents all crates.
        if part.name == package {
            uses.extend(standard_library.map(Part::reference));
        }
        Dependency { dependency_ref: part.reference(), dependencies: uses.into_iter().collect() }
    });
    Ok(Bom {
        serial_number: None,
        metadata: Some(Metadata { component: Some(root), ..Metadata::default() }),
        components: Some(Components(components)),
        dependencies: Some(Dependencies(dependencies.collect())),
        spec_version: SpecVersion::V1_5,
        ..Bom::default()
    })
}

fn component(part: &Part, kind: Classification) -> Result<Component, Error> {
    let licence = SpdxExpression::try_from(part.licence.clone()).map_err(|error| {
        Error::Found(format!("the licence of {} is not valid: {error}", part.reference()))
    })?;
    let mut component = Component::new(kind, &part.name, &part.version, Some(part.reference()));
    // The format does not allow line breaks.
    component.description = part
        .description
        .as_deref()
        .map(|text| NormalizedString::new(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
    component.licenses = Some(Licenses(vec![LicenseChoice::Expression(licence)]));
    component.purl = part.purl.as_deref().map(Purl::from_str).transpose().map_err(|()| {
        Error::Found(format!("the package URL of {} is not valid", part.reference()))
    })?;
    component.cpe = part.cpe.as_deref().map(Cpe::new);
    component.hashes = part.checksum.clone().map(sha256);
    component.external_references = part.repository.as_deref().map(|url| {
        let url = Uri::Url(Url::new(url));
        ExternalReferences(vec![ExternalReference::new(ExternalReferenceType::Vcs, url)])
    });
    Ok(component)
}

fn sha256(content: String) -> Hashes {
    Hashes(vec![Hash { alg: HashAlgorithm::SHA_256, content: HashValue(content) }])
}

/// Checks that every crate whose sources a panic message of the program names is one of the parts.
fn check_crates(program: &[u8], parts: &[Part]) -> Result<(), Error> {
    const SOURCES: &[u8] = b"/cargo/registry/src/";
    let starts = program.windows(SOURCES.len()).enumerate();
    for (at, _) in starts.filter(|(_, window)| *window == SOURCES) {
        // The directory of the registry comes first.
        let rest = program.get(at + SOURCES.len()..).unwrap_or_default();
        let directory = rest.split(|&byte| byte == b'/').nth(1).unwrap_or_default();
        let directory =
            String::from_utf8_lossy(directory.get(..directory.len().min(200)).unwrap_or_default());
        if !parts.iter().any(|part| directory == format!("{}-{}", part.name, part.version)) {
            let what = format!(
                "the program contains {directory}, which is missing in its bill of materials"
            );
            return Err(Error::Found(what));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::UNPACKER, *};

    fn part(name: &str, version: &str, uses: &[&str]) -> Part {
        Part {
            licence: "MIT OR Apache-2.0".into(),
            description: Some("Of several\nlines".into()),
            repository: Some("https://example.com/it".into()),
            purl: Some(format!("pkg:cargo/{name}@{version}")),
            checksum: Some("0".repeat(64)),
            uses: uses.iter().map(|it| (*it).to_owned()).collect(),
            ..Part::sample(name, version)
        }
    }

    fn parts() -> Vec<Part> {
        vec![
            part("ring", "0.17.14", &[]),
            part(STANDARD_LIBRARY, "1.95.0", &[]),
            part(UNPACKER.package, "0.1.0", &["ring@0.17.14"]),
        ]
    }

    fn json(program: &[u8], parts: &[Part]) -> Result<serde_json::Value, Error> {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("program"), directory.path().join("bom"));
        fs::write(&from, program).unwrap();
        write(&UNPACKER, &from, "x86_64-unknown-linux-gnu", parts, &to)?;
        Ok(serde_json::from_slice(&fs::read(&to).unwrap()).unwrap())
    }

    #[test]
    fn the_bill_has_every_part_and_the_digest_of_the_program() {
        let bom = json(b"program", &parts()).unwrap();
        assert_eq!((&bom["bomFormat"], &bom["specVersion"]), (&"CycloneDX".into(), &"1.5".into()));
        let root = &bom["metadata"]["component"];
        // The output of `printf program | sha256sum`.
        let digest = "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8";
        assert_eq!(root["hashes"][0]["content"], digest);
        let names: Vec<_> =
            bom["components"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["ring", STANDARD_LIBRARY]);
        assert_eq!(bom["components"][0]["purl"], "pkg:cargo/ring@0.17.14");
        let uses = &bom["dependencies"][2]["dependsOn"];
        assert_eq!(*uses, serde_json::json!(["ring@0.17.14", "rust-std@1.95.0"]));
        for time in ["serialNumber", "timestamp"] {
            assert!(!bom.to_string().contains(time), "{bom}");
        }
    }

    #[test]
    fn a_crate_that_only_the_program_knows_is_found() {
        let path = |name: &str| format!("\0/cargo/registry/src/index-1/{name}/src/lib.rs\0");
        assert!(json(path("ring-0.17.14").as_bytes(), &parts()).is_ok());
        let error = json(path("hidden-1.2.3").as_bytes(), &parts()).unwrap_err().to_string();
        assert!(error.contains("hidden-1.2.3"), "{error}");
    }

    #[test]
    fn a_licence_that_is_not_an_expression_is_refused() {
        let mut parts = parts();
        parts[0].licence = "ask the author".into();
        assert!(json(b"", &parts).unwrap_err().to_string().contains("ring@0.17.14"));
    }
}
