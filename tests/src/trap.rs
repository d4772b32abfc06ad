//! Traps for a program that runs in the file system of a hostile bundle: if a C library loads code
//! from there, the code reports itself.

#![expect(clippy::panic, reason = "a harness: a trap that cannot be laid must fail the test")]

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// The text that the loaded code writes to standard error, and the directory that it creates in
/// `/`.
pub const MARK: &str = "FOREIGN-CODE-RAN";

/// Variables of an image that lead into the traps, or change what the caller intends.
pub const ENVIRONMENT: [(&str, &str); 27] = [
    ("LD_PRELOAD", "/lib/TRAP.so"),
    ("LD_LIBRARY_PATH", "/lib"),
    ("LD_AUDIT", "/lib/TRAP.so"),
    ("GCONV_PATH", "/gconv"),
    ("GLIBC_TUNABLES", "glibc.malloc.check=3"),
    ("LOCPATH", "/lib"),
    ("NLSPATH", "/lib/%N"),
    ("LANG", "xx_XX.TRAP"),
    ("LC_ALL", "xx_XX.TRAP"),
    ("LANGUAGE", "xx"),
    ("HOSTALIASES", "/etc/hosts"),
    ("RES_OPTIONS", "debug"),
    ("TZ", ":/etc/localtime"),
    ("KUBECONFIG", "/kubeconfig"),
    ("HTTP_PROXY", "http://192.0.2.1:1"),
    ("HTTPS_PROXY", "http://192.0.2.1:1"),
    ("https_proxy", "http://192.0.2.1:1"),
    ("ALL_PROXY", "socks5://192.0.2.1:1"),
    ("SSL_CERT_FILE", "/etc/victim"),
    ("SSL_CERT_DIR", "/etc"),
    ("SSLKEYLOGFILE", "/keys"),
    ("RUST_LOG", "trace"),
    ("RUST_BACKTRACE", "full"),
    ("RUST_MIN_STACK", "1"),
    ("TMPDIR", "/lib"),
    ("HOME", "/lib"),
    ("CONTAINER_IMAGE", "foreign"),
];

const DIRECTORIES: [&str; 9] = [
    "lib",
    "lib64",
    "lib/x86_64-linux-gnu",
    "usr/lib",
    "usr/lib64",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/x86_64-linux-gnu/gconv",
    "gconv",
    "tls",
];

const LIBRARIES: [&str; 10] = [
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libgcc_s.so.1",
    "libnss_compat.so.2",
    "libnss_dns.so.2",
    "libnss_files.so.2",
    "libnss_trap.so.2",
    "libresolv.so.2",
    "TRAP.so",
    "UTF-8.so",
];

const SETTINGS: [(&str, &str); 8] = [
    ("nsswitch.conf", "hosts: trap\npasswd: trap\nservices: trap\n"),
    ("hosts", "192.0.2.1 kubernetes.default.svc localhost\n"),
    ("resolv.conf", "nameserver 192.0.2.1\n"),
    ("host.conf", "multi on\n"),
    ("gai.conf", "reload yes\n"),
    ("ld.so.preload", "/lib/TRAP.so\n"),
    ("localtime", "not a time zone"),
    ("victim", "untouched"),
];

/// Puts a hostile library below `root` wherever a C library may look for one, and creates
/// configuration files that refer to it.
///
/// # Panics
///
/// Panics if the C compiler fails, which building the workspace also needs, if a file cannot be
/// written, or if the trap does not catch an ordinary program.
pub fn lay(root: &Path) {
    lay_or_fail(root).unwrap_or_else(|error| panic!("traps in {}: {error}", root.display()));
}

fn lay_or_fail(root: &Path) -> io::Result<()> {
    let directory = tempfile::tempdir()?;
    let library = directory.path().join("trap.so");
    compile(directory.path(), &library)?;
    let output = Command::new("true").env("LD_PRELOAD", &library).output()?;
    let _ = fs::remove_dir(format!("/{MARK}"));
    assert!(String::from_utf8_lossy(&output.stderr).contains(MARK), "the trap does not work");

    for directory in DIRECTORIES {
        let directory = root.join(directory);
        fs::create_dir_all(&directory)?;
        for name in LIBRARIES {
            fs::copy(&library, directory.join(name))?;
        }
        let modules = "module UTF-8// INTERNAL TRAP 1\nmodule INTERNAL UTF-8// TRAP 1\n";
        fs::write(directory.join("gconv-modules"), modules)?;
    }
    fs::create_dir_all(root.join("etc"))?;
    for (name, text) in SETTINGS {
        fs::write(root.join("etc").join(name), text)?;
    }
    fs::create_dir_all(root.join("dev"))?;
    symlink("/etc/victim", root.join("dev/termination-log"))?;
    fs::write(root.join("kubeconfig"), "not: a kubeconfig\n")
}

/// Compiles a library that needs no other library, because no library works in the trapped file
/// system.
fn compile(directory: &Path, library: &Path) -> io::Result<()> {
    let source = directory.join("trap.c");
    let code = format!(
        r#"#include <fcntl.h>
#include <sys/syscall.h>
static long call(long number, long first, const void *second, long third) {{
#ifdef __x86_64__
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second), "d"(third)
        : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first, x2 __asm__("x2") = third;
    register const void *x1 __asm__("x1") = second;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}}
__attribute__((constructor)) static void trap(void) {{
    call(SYS_write, 2, "{MARK}\n", sizeof "{MARK}");
    call(SYS_mkdirat, AT_FDCWD, "/{MARK}", 0700);
}}
"#
    );
    fs::write(&source, code)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-nostdlib", "-w", "-o"]).arg(library).arg(source);
    let output = compiler.output()?;
    assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
