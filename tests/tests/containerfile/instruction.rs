//! Parses the instructions of a Containerfile, with as much of the syntax as ours uses.

/// An instruction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// Returns the instructions in their order, one for each line, without comments.
///
/// # Panics
///
/// Panics if an instruction has several lines.
pub(crate) fn instructions(text: &str) -> Vec<Instruction> {
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &str| {
        assert!(!line.ends_with('\\') && !line.contains("<<"), "over several lines: {line}");
        let (name, arguments) = line.split_once(' ').unwrap();
        Instruction { name: name.to_uppercase(), arguments: arguments.trim().to_owned() }
    };
    lines.map(read).collect()
}
