//! The instructions of a Containerfile; as much of its syntax as ours uses.

/// One instruction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// All of them, in order: one a line, comments left out.
///
/// # Panics
///
/// If one goes over several lines.
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
