//! The static program under what an image, a runtime or a node may set around it: variables of the
//! C library, closed descriptors, limits.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;
use serde_json::Value;
use unlade_tests::shipped;

use crate::fixture::{Run, bundle};

/// Settings of an image's `ENV` that end a program with this C library before its first
/// instruction, or keep it from starting a thread, and those that a pod's own variables replace.
const ENDING: [(&str, &str); 6] = [
    ("GLIBC_TUNABLES", "glibc.malloc.top_pad=9000000000000000"),
    ("GLIBC_TUNABLES", "glibc.malloc.top_pad=18446744073709400000"),
    ("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=1000000000000"),
    ("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16777216"),
    // The older names of the same settings.
    ("MALLOC_TOP_PAD_", "9000000000000000"),
    ("MALLOC_TOP_PAD_", "18446744073709400000"),
];

/// Settings that change nothing.
const HARMLESS: [(&str, &str); 14] = [
    // The form of CVE-2023-4911.
    ("GLIBC_TUNABLES", "glibc.malloc.mxfast=glibc.malloc.mxfast=A"),
    ("GLIBC_TUNABLES", "glibc.pthread.stack_cache_size=99999999999"),
    ("GLIBC_TUNABLES", "glibc.rtld.nns=999999999"),
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2_Usable"),
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_CHECK_", "3"),
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_MMAP_THRESHOLD_", "18446744073709400000"),
    ("MALLOC_PERTURB_", "255"),
    ("MALLOC_TRIM_THRESHOLD_", "1"),
    ("LD_HWCAP_MASK", "0xffffffffffffffff"),
    ("LD_TRACE_LOADED_OBJECTS", "1"),
    ("RUST_MIN_STACK", "99999999999999"),
    ("MALLOC_TRACE", "/no/such"),
];

/// Returns the variables that a launched pod sets to fixed values.
fn pod_variables() -> Vec<(String, String)> {
    let job = include_str!("../../../launcher/src/object/tests/inject.json");
    let job: Value = serde_json::from_str(job).unwrap();
    let variables = &job["spec"]["template"]["spec"]["containers"][0]["env"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let pair = |variable: &Value| Some((text(&variable["name"])?, text(&variable["value"])?));
    variables.as_array().unwrap().iter().filter_map(pair).collect()
}

/// Runs `program` with the command `around` before it, and with no variables but `variables`.
fn run(around: &[&str], program: &Path, variables: &[(&str, &str)]) -> Run {
    let bundle = bundle("one");
    let mut command = match around {
        [] => Command::new(program),
        [first, rest @ ..] => {
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        }
    };
    command.args(["serve", "--dry-run"]).env_clear().envs(variables.iter().copied());
    Run::execute(command.arg(format!("--bundle={}=x", bundle.path().display())))
}

#[test]
#[ignore = "needs the static unpacker"]
fn variables_of_the_c_library_change_nothing_once_the_pod_sets_its_own() {
    let program = shipped::unpacker();
    let own = pod_variables();
    let own = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in ENDING.into_iter().chain(HARMLESS) {
        // The last one counts, as the pod's own does beside the image's.
        let variables: Vec<_> = [(name, value)].into_iter().chain(own.clone()).collect();
        let run = run(&[], &program, &variables);
        assert_eq!((run.code, run.verdicts()), (Some(0), vec!["printed".into()]), "{name}={value}");
    }
    for (name, value) in HARMLESS {
        let run = run(&[], &program, &[(name, value)]);
        assert_eq!((run.code, run.verdicts()), (Some(0), vec!["printed".into()]), "{name}={value}");
    }
}

#[test]
#[ignore = "needs the static unpacker"]
fn a_large_environment_changes_nothing() {
    let program = shipped::unpacker();
    let value = "x".repeat(120_000);
    let run = run(&[], &program, &[("A", &value), ("GLIBC_TUNABLES", &value)]);
    assert_eq!((run.code, run.verdicts()), (Some(0), vec!["printed".into()]));
}

#[test]
#[ignore = "needs the static unpacker"]
fn closed_standard_streams_change_nothing() {
    let program = shipped::unpacker();
    let log = tempfile::NamedTempFile::new().unwrap();
    let bundle = bundle("one");
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
        let script =
            format!("\"$0\" serve --dry-run --bundle=\"$1=x\" --termination-log=\"$2\" {closed}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(&program).arg(bundle.path()).arg(log.path());
        let run = Run::execute(&mut command);
        assert_eq!(run.code, Some(0), "{closed} {run:?}");
        let outcome = std::fs::read_to_string(log.path()).unwrap();
        assert!(outcome.contains("\"printed\""), "{closed} {outcome}");
    }
}

#[test]
#[ignore = "needs the static unpacker"]
fn an_error_of_the_system_is_not_a_fault_of_the_bundle() {
    let program = shipped::unpacker();
    let no_file = "Too many open files";
    let no_thread = "failed to start a thread";
    // Each limit, and the text of the error, or nothing if the program needs less.
    for (limit, error) in [
        ("--nofile=3", no_file),
        ("--nofile=4", no_file),
        ("--nofile=5", no_file),
        ("--nofile=6", no_file),
        ("--nofile=8", ""),
        // Root may start more processes.
        ("--nproc=0", if geteuid().is_root() { "" } else { no_thread }),
        ("--as=50000000", ""),
        ("--as=20000000", ""),
        ("--as=6000000", no_thread),
        ("--data=1000000", no_thread),
        // The system puts the environment at a random place on the stack, and kills a program that
        // has no page left. With 16 KiB and 4 kB of variables, 1 of 20 runs ended by a signal.
        ("--stack=32768", ""),
    ] {
        let run = run(&["prlimit", limit], &program, &[]);
        let (code, verdict) = if error.is_empty() { (0, "printed") } else { (31, "system") };
        assert_eq!(
            (run.code, run.verdicts()),
            (Some(code), vec![verdict.into()]),
            "{limit} {run:?}"
        );
        assert!(run.stderr.contains(error), "{limit} {run:?}");
    }
}

/// The address space of the program includes its resident memory.
#[test]
fn a_bundle_that_is_too_large_for_a_config_map_needs_less_than_256_mib() {
    let bundle = bundle("one");
    let metadata = format!("a: [{}]\n", "[],".repeat(1_300_000));
    for name in ["properties", "dependencies"] {
        fs::write(bundle.path().join(format!("metadata/{name}.yaml")), &metadata).unwrap();
    }
    // Together, almost the maximum size of a bundle.
    for n in 0..2 {
        let mut file = fs::File::create(bundle.path().join(format!("manifests/{n}"))).unwrap();
        let random = fs::File::open("/dev/urandom").unwrap();
        io::copy(&mut random.take(12 << 20), &mut file).unwrap();
    }
    let script = "ulimit -v 262144 && exec \"$0\" serve --dry-run --bundle=\"$1=x\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_unlade-unpacker")]).arg(bundle.path());
    let run = Run::execute(&mut command);
    assert_eq!((run.code, run.verdicts()), (Some(13), vec!["tooLarge".into()]), "{run:?}");
}

#[test]
#[ignore = "needs the static unpacker"]
fn a_file_that_may_not_grow_is_a_failure_and_no_signal() {
    let program = shipped::unpacker();
    let bundle = bundle("one");
    let output = tempfile::NamedTempFile::new().unwrap();
    let script = "ulimit -f 0; exec \"$0\" serve --dry-run --bundle=\"$1=x\" >\"$2\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&program).arg(bundle.path()).arg(output.path());
    let run = Run::execute(&mut command);
    assert_eq!((run.code, run.verdicts()), (Some(31), vec!["system".into()]), "{run:?}");
}

#[test]
#[ignore = "needs the static unpacker"]
fn a_working_directory_that_is_gone_changes_nothing() {
    let program = shipped::unpacker();
    let (bundle, directory) = (bundle("one"), tempfile::tempdir().unwrap());
    let script = "mkdir \"$2/gone\"; cd \"$2/gone\"; rmdir \"$2/gone\"; \
                  exec \"$0\" serve --dry-run --bundle=\"$1=x\"";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(&program).arg(bundle.path()).arg(directory.path());
    assert_eq!(Run::execute(&mut command).verdicts(), ["printed"]);
}

/// As a seccomp profile may refuse them.
#[test]
#[ignore = "needs the static unpacker, strace"]
fn calls_that_are_refused_are_replaced() {
    let program = shipped::unpacker();
    for (call, error) in [
        ("openat2", "ENOSYS"),
        ("openat2", "EPERM"),
        ("statx", "ENOSYS"),
        ("statx", "EPERM"),
        ("clone3", "ENOSYS"),
        ("signalfd4", "ENOSYS"),
        // `/dev/urandom` takes its place.
        ("getrandom", "EPERM"),
    ] {
        let inject = format!("--inject={call}:error={error}");
        let strace = ["strace", "-f", "-qq", "-o", "/dev/null", &inject];
        let run = run(&strace, &program, &[]);
        let printed = vec!["printed".to_owned()];
        assert_eq!((run.code, run.verdicts()), (Some(0), printed), "{call} {error} {run:?}");
    }
}
