use super::*;

fn parsed(args: &str) -> Result<Command, Error> {
    parse(args.split_whitespace().map(OsString::from))
}

fn options(args: &str) -> serve::Options {
    match parsed(args) {
        Ok(Command::Serve(options)) => *options,
        other => panic!("{args}: {other:?}"),
    }
}

#[test]
fn each_bundle_has_its_root_its_config_map_and_its_image() {
    let options = options(
        "serve --source-image a --bundle one --bundle /mnt/x=y=two --source-image b --bundle /3=three",
    );
    let found: Vec<_> = options
        .bundles
        .iter()
        .map(|b| (b.root.to_str().unwrap(), b.config_map.as_str(), b.source_image.as_deref()))
        .collect();
    assert_eq!(
        found,
        [("/", "one", Some("a")), ("/mnt/x=y", "two", Some("b")), ("/3", "three", None)]
    );
}

#[test]
fn values_are_read_with_their_units() {
    let options = options(
        "serve --bundle a -n ns --encoding gzip --attempt 7f --max-files 5 --max-file-size 4Mi \
         --max-total-size 9Ki --deadline 2m --request-timeout 1500ms --permission-wait 3 -o json",
    );
    assert_eq!(options.namespace.as_deref(), Some("ns"));
    assert_eq!(options.encoding, Encoding::Gzip);
    assert_eq!(options.attempt.as_deref(), Some("7f"));
    let limits = &options.limits;
    assert_eq!((limits.files, limits.file_size, limits.total_size), (5, 4 << 20, 9 << 10));
    assert_eq!(options.policy.deadline, Duration::from_mins(2));
    assert_eq!(options.policy.request, Duration::from_millis(1500));
    assert_eq!(options.policy.permission, Duration::from_secs(3));
    assert_eq!(options.output, Output::Json);
}

#[test]
fn wrong_command_lines_are_refused() {
    let cases = [
        ("", "a command is required"),
        ("frob", r#"unknown command "frob""#),
        ("--frob", "invalid option '--frob'"),
        ("serve", "--bundle is required"),
        ("serve extra --bundle a", r#"argument "extra""#),
        ("serve --bundle", "missing argument for option '--bundle'"),
        ("serve --bundle A", r#"invalid value "A" for --bundle: "#),
        ("serve --bundle a/../b", r#"invalid value "a/../b" for --bundle: "#),
        ("serve --bundle =a", r#"invalid value "=a" for --bundle: "#),
        ("serve --bundle /=", r#"invalid value "/=" for --bundle: "#),
        ("serve --bundle a --bundle /x=a", "the ConfigMap a is given twice"),
        ("serve --bundle a --namespace a.b", r#"invalid value "a.b" for --namespace: "#),
        ("serve --bundle a --namespace ../x", r#"invalid value "../x" for --namespace: "#),
        ("serve --bundle a --encoding zstd", r#"invalid value "zstd" for --encoding: "#),
        ("serve --bundle a --output table", r#"invalid value "table" for --output: "#),
        ("serve --bundle a --max-files many", r#"invalid value "many" for --max-files: "#),
        ("serve --bundle a --max-file-size 1Gi", r#"invalid value "1Gi" for --max-file-size: "#),
        (
            "serve --bundle a --max-file-size 18446744073709551616",
            r#"invalid value "18446744073709551616" for --max-file-size: "#,
        ),
        ("serve --bundle a --deadline 1h", r#"invalid value "1h" for --deadline: "#),
        ("serve --bundle a --deadline -1", r#"invalid value "-1" for --deadline: "#),
        ("serve --bundle a --dry-run=yes", "argument for option '--dry-run'"),
        ("install", "exactly one DEST"),
        ("install a b", "exactly one DEST"),
    ];
    for (case, expected) in cases {
        let error = parsed(case).unwrap_err().to_string();
        assert!(error.contains(expected), "{case}: {error}");
    }
}

#[test]
fn help_names_every_flag_and_exit_code() {
    let source = include_str!("../args.rs");
    let flags = source.split("Long(\"").skip(1).filter_map(|rest| rest.split('"').next());
    for flag in flags {
        assert!(HELP.contains(&format!("--{flag}")), "--{flag} is not in the help");
    }
    for verdict in unlade_config_map::protocol::outcome::Verdict::ALL {
        assert!(HELP.contains(&format!("{} ", verdict.exit_code())), "{verdict:?}");
    }
    assert!(HELP.lines().all(|line| line.len() <= 100));
    for args in ["--help", "-h", "help", "serve --help", "install -h"] {
        assert!(matches!(parsed(args), Ok(Command::Print(HELP))), "{args}");
    }
    assert!(matches!(parsed("-V"), Ok(Command::Print(VERSION))));
}
