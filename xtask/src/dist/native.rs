//! The parts of every static program besides its crates: the standard library of Rust, the C
//! library, and with glibc the library of the C compiler.

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
    process::Command,
};

use super::{
    architecture::{Libc, Toolchain},
    part::{Part, Texts},
};
use crate::{
    command::{self, Error, capture},
    workspace,
};

/// The maximum size of a C library, in bytes; the usual one has 6 MB.
const MOST: u64 = 64 << 20;

pub(super) const STANDARD_LIBRARY: &str = "rust-std";

/// Returns these parts.
pub(super) fn parts(toolchain: &Toolchain) -> Result<Vec<Part>, Error> {
    let mut parts = match toolchain.libc {
        Libc::Glibc => vec![glibc(toolchain)?, libgcc(toolchain)?],
        Libc::Musl => vec![musl(toolchain)?],
    };
    let mut standard_library = standard_library()?;
    standard_library.uses = parts.iter().map(Part::reference).collect();
    parts.push(standard_library);
    Ok(parts)
}

fn standard_library() -> Result<Part, Error> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = capture_text(Command::new(rustc).current_dir(workspace::root()).arg("-vV"))?;
    let version = version.lines().find_map(|line| line.strip_prefix("release: "));
    let version = version.ok_or_else(|| Error::Found("rustc does not print its version".into()))?;
    Ok(Part {
        name: STANDARD_LIBRARY.into(),
        version: version.to_owned(),
        licence: "MIT OR Apache-2.0".into(),
        description: Some("The Rust standard library".into()),
        repository: Some("https://github.com/rust-lang/rust".into()),
        purl: Some(format!("pkg:generic/rust@{version}")),
        cpe: Some(cpe("rust-lang", "rust", version)),
        checksum: None,
        uses: [].into(),
        texts: Texts::Named { names: &["MIT", "Apache-2.0"], notices: None },
    })
}

fn glibc(toolchain: &Toolchain) -> Result<Part, Error> {
    let path = capture_text(Command::new(&toolchain.compiler).arg("-print-file-name=libc.a"))?;
    let file = |source| Error::File { path: path.clone(), source };
    let path = fs::canonicalize(&path).map_err(file)?;
    let version = read_version(&path, glibc_version)?;
    let package = debian_package(&path);
    let generic = || format!("pkg:generic/glibc@{version}");
    Ok(Part {
        licence: "LGPL-2.1-or-later".into(),
        description: Some("The GNU C library".into()),
        repository: Some("https://sourceware.org/git/glibc.git".into()),
        purl: Some(package.as_ref().map_or_else(generic, |package| package.purl.clone())),
        cpe: Some(cpe("gnu", "glibc", &version)),
        checksum: None,
        uses: [].into(),
        texts: Texts::Named {
            names: &["LGPL-2.1-or-later"],
            notices: package.and_then(|package| package.notices),
        },
        name: "glibc".into(),
        version,
    })
}

/// Returns the C library that the Rust toolchain contains, which also has LLVM's unwinder.
fn musl(toolchain: &Toolchain) -> Result<Part, Error> {
    let path = toolchain.standard_library()?.join("self-contained/libc.a");
    let version = read_version(&path, musl_version)?;
    Ok(Part {
        name: "musl".into(),
        licence: "MIT".into(),
        description: Some("The C library of Rust's targets for musl".into()),
        repository: Some("https://git.musl-libc.org/git/musl".into()),
        purl: Some(format!("pkg:generic/musl@{version}")),
        cpe: Some(cpe("musl-libc", "musl", &version)),
        checksum: None,
        uses: [].into(),
        texts: Texts::Named { names: &["MIT"], notices: None },
        version,
    })
}

fn libgcc(toolchain: &Toolchain) -> Result<Part, Error> {
    let version = capture_text(Command::new(&toolchain.compiler).arg("-dumpfullversion"))
        .or_else(|_| capture_text(Command::new(&toolchain.compiler).arg("-dumpversion")))?;
    Ok(Part {
        name: "libgcc".into(),
        licence: "GPL-3.0-or-later WITH GCC-exception-3.1".into(),
        description: Some("What GCC's programs need at run time, such as unwinding".into()),
        repository: Some("https://gcc.gnu.org/git/gcc.git".into()),
        purl: Some(format!("pkg:generic/libgcc@{version}")),
        cpe: Some(cpe("gnu", "gcc", &version)),
        checksum: None,
        uses: [].into(),
        texts: Texts::Named { names: &["GPL-3.0-or-later", "GCC-exception-3.1"], notices: None },
        version,
    })
}

fn read_version(path: &Path, find: fn(&[u8]) -> Option<String>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST).read_to_end(&mut bytes))
        .map_err(Error::file(path))?;
    find(&bytes)
        .ok_or_else(|| Error::Found(format!("{} does not contain its version", path.display())))
}

fn cpe(vendor: &str, product: &str, version: &str) -> String {
    format!("cpe:2.3:a:{vendor}:{product}:{version}:*:*:*:*:*:*:*")
}

/// Finds the version in a text that every glibc contains, such as `GNU C Library (Debian GLIBC
/// 2.36-9+deb12u14) stable release version 2.36.`.
fn glibc_version(library: &[u8]) -> Option<String> {
    const BEGINNING: &[u8] = b"GNU C Library (";
    const BEFORE: &str = " release version ";
    let at = library.windows(BEGINNING.len()).position(|window| window == BEGINNING)?;
    let banner = library.get(at..)?.split(|&byte| byte == b'\n').next()?;
    let banner = String::from_utf8_lossy(banner.get(..banner.len().min(400))?).into_owned();
    let (_, version) = banner.split_once(BEFORE)?;
    let version: String =
        version.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect();
    Some(version.trim_end_matches('.').to_owned()).filter(|version| !version.is_empty())
}

/// Finds the version in a musl, such as `1.2.5`: the only text of this form between two NULs.
fn musl_version(library: &[u8]) -> Option<String> {
    let texts = library.split(|&byte| byte == 0).filter(|text| text.len() < 16);
    let texts = texts.filter_map(|text| std::str::from_utf8(text).ok());
    let is_version = |text: &&str| {
        let mut parts = text.split('.');
        let is_number = |part: &str| part.parse::<u8>().is_ok();
        parts.next() == Some("1") && parts.clone().count() == 2 && parts.all(is_number)
    };
    texts.into_iter().find(is_version).map(str::to_owned)
}

/// A package of Debian, or of a distribution derived from it, that contains a file.
struct DebianPackage {
    purl: String,
    /// The file with all notices of its authors.
    notices: Option<PathBuf>,
}

fn debian_package(path: &Path) -> Option<DebianPackage> {
    if !command::is_on_path("dpkg-query") {
        return None;
    }
    // `libc6-dev:amd64: /usr/lib/...`
    let found = capture_text(Command::new("dpkg-query").arg("--search").arg(path)).ok()?;
    let (package, _) = found.lines().next()?.split_once(": ")?;
    let format = "--showformat=${Package} ${Version} ${Architecture} ${source:Package}";
    let shown = capture_text(Command::new("dpkg-query").args(["--show", format, package])).ok()?;
    let mut words = shown.split(' ');
    let (name, version, architecture) = (words.next()?, words.next()?, words.next()?);
    let source = words.next()?;
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |name: &str| {
        let value = release.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    let distribution = field("ID").unwrap_or_else(|| "debian".into());
    let version = version.replace('+', "%2B").replace(':', "%3A").replace('~', "%7E");
    let release = field("VERSION_ID").map(|id| format!("&distro={distribution}-{id}"));
    let release = release.unwrap_or_default();
    let notices = PathBuf::from(format!("/usr/share/doc/{name}/copyright"));
    Some(DebianPackage {
        // Databases of vulnerabilities refer to the source package.
        purl: format!(
            "pkg:deb/{distribution}/{name}@{version}?arch={architecture}{release}&upstream={source}"
        ),
        notices: notices.is_file().then_some(notices),
    })
}

fn capture_text(command: &mut Command) -> Result<String, Error> {
    let output = capture(command.env("LC_ALL", "C"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_c_library_is_found() {
        let library =
            b"\0\0GNU C Library (Some Vendor 2.36-9) stable release version 2.36.\nCopyright";
        assert_eq!(glibc_version(library).as_deref(), Some("2.36"));
        assert_eq!(glibc_version(b"musl libc"), None);
        assert_eq!(musl_version(b"\0\x011.2\0a.b.c\x001.2.5\0\0").as_deref(), Some("1.2.5"));
        assert_eq!(musl_version(library), None);
    }
}
