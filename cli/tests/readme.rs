//! Checks that the commands of the README print the output that it shows.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test, and what it is made of")]

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

const README: &str = include_str!("../../README.md");

/// A command of a `console` block, and the lines that follow it there.
struct Shown {
    command: &'static str,
    output: String,
}

#[test]
fn commands_of_the_readme_print_what_it_shows() {
    let shown: Vec<_> = shown().into_iter().filter(|shown| !shown.output.is_empty()).collect();
    assert!(shown.iter().any(|shown| shown.command.starts_with("cargo run -- unpack")));
    for Shown { command, output } in shown {
        let printed =
            command.split(" | ").fold(Vec::new(), |input, part| run(&arguments(part), &input));
        assert_eq!(trimmed(&String::from_utf8(printed).unwrap()), trimmed(&output), "{command}");
    }
}

/// Returns the arguments of `unlade` in one part of a pipe.
fn arguments(part: &'static str) -> Vec<&'static str> {
    let arguments = part.strip_prefix("cargo run -- ").or_else(|| part.strip_prefix("unlade "));
    let mut arguments: Vec<_> =
        arguments.unwrap_or_else(|| panic!("not unlade: {part}")).split(' ').collect();
    // The default on a terminal.
    if !arguments.contains(&"-o") {
        arguments.extend(["-o", "summary"]);
    }
    arguments
}

fn run(arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut unlade = Command::new(env!("CARGO_BIN_EXE_unlade"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that does not read its input may end before the input is written.
    let _ = unlade.stdin.take().unwrap().write_all(input);
    let output = unlade.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

fn shown() -> Vec<Shown> {
    let blocks = README.split("```console\n").skip(1);
    let blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    let mut all: Vec<Shown> = Vec::new();
    for line in blocks.flat_map(str::lines) {
        if let Some(command) = line.strip_prefix("$ ") {
            all.push(Shown { command, output: String::new() });
        } else {
            let output = &mut all.last_mut().unwrap().output;
            output.push_str(line);
            output.push('\n');
        }
    }
    all
}

/// Removes blanks at the ends of lines and at the end of the text.
fn trimmed(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim().to_owned()
}
