//! The table of crates: what each may depend on, and what its sources may not contain.

/// What a crate of the workspace may depend on.
pub(super) struct Boundary {
    pub(super) crate_name: &'static str,
    /// Its purpose, as the table shows it.
    pub(super) purpose: &'static str,
    /// What it reads and writes outside of the process.
    pub(super) reach: &'static str,
    /// The directory of its sources.
    pub(super) directory: &'static str,
    /// The crates of the workspace that it may name in its manifest.
    pub(super) may_name: &'static [&'static str],
    /// The crates that it may not depend on, directly or indirectly.
    pub(super) without: &'static [&'static [&'static str]],
    /// The words that its sources may not contain.
    pub(super) forbidden_words: &'static [&'static str],
}

const ASYNC: &[&str] = &["tokio", "futures-core", "async-trait", "mio", "smol", "async-std"];
const NETWORK: &[&str] =
    &["hyper", "reqwest", "ureq", "rustls", "openssl", "native-tls", "socket2", "tonic"];
const KUBERNETES: &[&str] = &["kube", "kube-core", "kube-client", "kube-runtime", "k8s-openapi"];
/// The client, without the types of Kubernetes, which `unlade-diagnose` and a feature of
/// `unlade-config-map` use.
const KUBE: &[&str] = &["kube", "kube-core", "kube-client", "kube-runtime"];
const SYSTEM: &[&str] = &["rustix", "nix", "tempfile", "walkdir", "cap-std", "tar"];
const TERMINAL: &[&str] = &["clap", "anstream", "tracing-subscriber", "env_logger"];
/// Parsers of another dialect than Go's, kept out of everything (docs/decisions/0001).
const YAML: &[&str] =
    &["serde_yaml", "serde_yml", "serde_norway", "serde_yaml_ng", "serde-saphyr", "yaml-rust2"];

/// The same without the one that kube reads kubeconfigs with; our sources may not name that one.
const OTHER_YAML: &[&str] =
    &["serde_yaml", "serde_yml", "serde_norway", "serde_yaml_ng", "yaml-rust2"];
const KUBECONFIG_YAML: &[&str] = &["serde_saphyr"];

/// The parts of std that reach outside.
const OUTSIDE: &[&str] =
    &["std::fs", "std::net", "std::env", "std::process", "std::thread", "fs::read", "env::var"];

/// A crate that reaches nothing outside of the process, and depends on none of ours.
const PURE: Boundary = Boundary {
    crate_name: "",
    purpose: "",
    reach: "nothing",
    directory: "",
    may_name: &[],
    without: &[ASYNC, NETWORK, KUBERNETES, SYSTEM, TERMINAL, YAML],
    forbidden_words: OUTSIDE,
};

/// A crate that reads and writes files, and reaches nothing else.
const FILES: Boundary = Boundary {
    reach: "files",
    without: &[ASYNC, NETWORK, KUBERNETES, TERMINAL, YAML],
    forbidden_words: &["std::net", "std::process::Command"],
    ..PURE
};

/// Every crate of the workspace.
pub(super) const BOUNDARIES: [Boundary; 23] = [
    Boundary {
        crate_name: "unlade-text",
        purpose: "escapes and shortens untrusted text for display",
        directory: "crates/text",
        ..PURE
    },
    Boundary {
        crate_name: "unlade-name",
        purpose: "the names of Kubernetes objects, labels and images",
        directory: "crates/name",
        may_name: &["unlade-text"],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-yaml",
        purpose: "YAML and JSON as Kubernetes and Go read and write them",
        directory: "crates/yaml",
        may_name: &["unlade-text"],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-bundle",
        purpose: "the files and annotations of a bundle, what they mean to OLM, and findings",
        directory: "crates/bundle",
        may_name: &["unlade-name", "unlade-text", "unlade-yaml"],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-catalog",
        purpose: "a file-based catalog: its metas, its channel graphs, and their rules",
        directory: "crates/catalog",
        may_name: &["unlade-bundle", "unlade-name", "unlade-text", "unlade-yaml"],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-config-map",
        purpose: "the ConfigMap of a bundle: encoding, decoding and marks; the protocol between unpacker and launcher",
        directory: "crates/config-map",
        may_name: &["unlade-bundle", "unlade-text", "unlade-yaml"],
        without: &[ASYNC, NETWORK, KUBE, SYSTEM, TERMINAL, YAML],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-diagnose",
        purpose: "why a launch failed: pods, Jobs, pull secrets and errors of requests, classified",
        directory: "crates/diagnose",
        may_name: &["unlade-config-map", "unlade-name", "unlade-text", "unlade-yaml"],
        without: &[ASYNC, NETWORK, KUBE, SYSTEM, TERMINAL, YAML],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-parallel",
        purpose: "work on several items at the same time, with results in order",
        directory: "crates/parallel",
        forbidden_words: &["std::fs", "std::net", "std::env", "std::process"],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-directory",
        purpose: "directories, read without leaving them, and files, read up to a limit",
        directory: "crates/directory",
        may_name: &["unlade-bundle"],
        ..FILES
    },
    Boundary {
        crate_name: "unlade-catalog-directory",
        purpose: "the directory of a catalog, read without leaving it",
        directory: "crates/catalog-directory",
        may_name: &[
            "unlade-bundle",
            "unlade-catalog",
            "unlade-directory",
            "unlade-parallel",
            "unlade-text",
            "unlade-yaml",
        ],
        ..FILES
    },
    Boundary {
        crate_name: "unlade-loader",
        purpose: "a bundle as OLM sees it, its package manifest, and a report",
        directory: "loader",
        // `unlade-name` for the maximum length of names: longer ones are left out of the package
        // manifest.
        may_name: &[
            "unlade-bundle",
            "unlade-config-map",
            "unlade-name",
            "unlade-text",
            "unlade-yaml",
        ],
        without: &[ASYNC, NETWORK, KUBE, SYSTEM, TERMINAL, YAML],
        ..PURE
    },
    Boundary {
        crate_name: "unlade-oci",
        purpose: "layouts, archives and layers; builds images without an engine",
        directory: "oci",
        may_name: &[
            "unlade-bundle",
            "unlade-directory",
            "unlade-name",
            "unlade-parallel",
            "unlade-text",
            "unlade-yaml",
        ],
        ..FILES
    },
    // Blocking, like the readers of images; the testbed and xtask are built with it.
    Boundary {
        crate_name: "unlade-registry",
        purpose: "images in registries, and the credentials of podman and docker",
        reach: "registries, files, and credential helpers",
        directory: "registry",
        // `unlade-directory` reads files up to a limit.
        may_name: &[
            "unlade-directory",
            "unlade-name",
            "unlade-oci",
            "unlade-parallel",
            "unlade-text",
        ],
        without: &[ASYNC, KUBERNETES, TERMINAL, YAML, &["openssl", "native-tls"]],
        forbidden_words: &[],
    },
    Boundary {
        crate_name: "unlade-server",
        purpose: "catalogs over gRPC and HTTP, as `opm serve` and catalogd serve them",
        reach: "files, and ports to listen on",
        directory: "server",
        may_name: &["unlade-bundle", "unlade-catalog", "unlade-catalog-directory", "unlade-text"],
        without: &[KUBERNETES, YAML, &["reqwest", "ureq", "openssl", "native-tls"]],
        forbidden_words: &["ToSocketAddrs", "lookup_host"],
    },
    Boundary {
        crate_name: "unlade-unpacker",
        purpose: "the program that runs in the bundle's pod",
        reach: "files, and one API server",
        directory: "unpacker",
        may_name: &[
            "unlade-bundle",
            "unlade-config-map",
            "unlade-directory",
            "unlade-name",
            "unlade-text",
            "unlade-yaml",
        ],
        without: &[&["kube-runtime", "reqwest", "ureq", "openssl", "native-tls"], TERMINAL, YAML],
        // Host names are never looked up inside a bundle's file system. The program is copied into
        // each pod, so its sources do not use `tracing`. The dependency is not forbidden, because
        // hyper-util has it when kube's client is built too.
        forbidden_words: &["ToSocketAddrs", "lookup_host", "tracing::"],
    },
    Boundary {
        crate_name: "unlade-launcher",
        purpose: "Jobs that unpack bundles, and why they fail",
        reach: "one API server",
        directory: "launcher",
        may_name: &[
            "unlade-bundle",
            "unlade-config-map",
            "unlade-diagnose",
            "unlade-loader",
            "unlade-name",
            "unlade-text",
        ],
        without: &[&["openssl", "native-tls"], TERMINAL, OTHER_YAML],
        forbidden_words: KUBECONFIG_YAML,
    },
    Boundary {
        crate_name: "unlade",
        purpose: "the command, and the library with all of this under one name",
        reach: "standard streams, files, a cluster through `launcher`, and registries through `registry`",
        directory: "cli",
        may_name: &[
            "unlade-bundle",
            "unlade-catalog",
            "unlade-catalog-directory",
            "unlade-config-map",
            "unlade-diagnose",
            "unlade-directory",
            "unlade-launcher",
            "unlade-loader",
            "unlade-name",
            "unlade-oci",
            "unlade-parallel",
            "unlade-registry",
            "unlade-text",
            "unlade-yaml",
        ],
        without: &[&["openssl", "native-tls"], OTHER_YAML],
        forbidden_words: KUBECONFIG_YAML,
    },
    Boundary {
        crate_name: "unlade-images",
        purpose: "the images of unlade",
        directory: "images",
        may_name: &["unlade-oci"],
        ..FILES
    },
    Boundary {
        crate_name: "unlade-tests",
        purpose: "tests of all crates together",
        reach: "the corpus, upstream's Go code, and a cluster",
        directory: "tests",
        may_name: &[
            "unlade-bundle",
            "unlade-catalog",
            "unlade-catalog-directory",
            "unlade-config-map",
            "unlade-diagnose",
            "unlade-directory",
            "unlade-hostile",
            "unlade-images",
            "unlade-launcher",
            "unlade-loader",
            "unlade-name",
            "unlade-oci",
            "unlade-registry",
            "unlade-testbed",
            "unlade-yaml",
        ],
        without: &[OTHER_YAML],
        forbidden_words: KUBECONFIG_YAML,
    },
    Boundary {
        crate_name: "unlade-api-server",
        purpose: "an API server in memory, for the tests of `launcher` and `cli`",
        reach: "a port on localhost",
        directory: "tests/api-server",
        may_name: &["unlade-bundle", "unlade-config-map"],
        without: &[&["openssl", "native-tls"], TERMINAL, OTHER_YAML],
        forbidden_words: &["std::process::Command"],
    },
    Boundary {
        crate_name: "unlade-hostile",
        purpose: "hostile inputs by family and size, and every reader of outside bytes",
        reach: "files that it writes",
        directory: "tests/hostile",
        may_name: &[
            "unlade-bundle",
            "unlade-catalog",
            "unlade-catalog-directory",
            "unlade-config-map",
            "unlade-diagnose",
            "unlade-launcher",
            "unlade-loader",
            "unlade-name",
            "unlade-oci",
            "unlade-registry",
            "unlade-server",
            "unlade-unpacker",
            "unlade-yaml",
        ],
        // The server reads its arguments with clap.
        without: &[OTHER_YAML],
        forbidden_words: &["std::net", "std::process::Command"],
    },
    // These two are built before everything else, on every machine, so they must stay small.
    Boundary {
        crate_name: "unlade-testbed",
        purpose: "a real Kubernetes for the tests",
        reach: "processes, namespaces and mounts; Go modules and Debian packages while it is built",
        directory: "tests/testbed",
        may_name: &["unlade-name", "unlade-oci", "unlade-registry"],
        without: &[ASYNC, KUBERNETES, TERMINAL, YAML, &["openssl", "native-tls"]],
        forbidden_words: &[],
    },
    Boundary {
        crate_name: "xtask",
        purpose: "the commands of the project",
        reach: "cargo, Go, and a registry on request",
        directory: "xtask",
        may_name: &[
            "unlade-images",
            "unlade-name",
            "unlade-oci",
            "unlade-registry",
            "unlade-testbed",
            "unlade-text",
            "unlade-yaml",
        ],
        without: &[ASYNC, KUBERNETES, YAML, &["openssl", "native-tls"]],
        forbidden_words: &[],
    },
];
