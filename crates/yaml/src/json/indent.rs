//! Indents JSON as Go's `json.Indent` does.

use crate::{Error, error::output_too_large, find::find};

/// Indents compact JSON, as `SetIndent("", unit)` of Go's `json.Encoder` does. The result has no
/// final line break. Text that is not valid JSON does not become valid. `limit` is the maximum size
/// of the result, in bytes: nested values can expand it to the square of the size of `json`.
///
/// ```
/// use unlade_yaml::json::indent;
///
/// let text = indent(r#"{"a":[1,{}],"b":[]}"#, "  ", 1000)?;
/// assert_eq!(text, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
/// # Ok::<(), unlade_yaml::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the result is larger than `limit`.
pub fn indent(json: &str, unit: &str, limit: usize) -> Result<String, Error> {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    let (mut depth, mut done, mut at) = (0_usize, 0, 0);
    let check = |out: &String| {
        if out.len() > limit { Err(output_too_large(limit)) } else { Ok(()) }
    };
    let mut margin = String::new();
    let mut line = |out: &mut String, depth| {
        let len = unit.len() * depth;
        while margin.len() < len {
            margin.push_str(unit);
        }
        out.push('\n');
        out.push_str(margin.get(..len).unwrap_or(""));
        check(out)
    };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += quoted_len(bytes.get(at..).unwrap_or(&[]));
                continue;
            }
            b'{' | b'[' | b',' | b':' | b'}' | b']' => {}
            _ => {
                at += 1;
                continue;
            }
        }
        out.push_str(json.get(done..at).unwrap_or(""));
        at += 1;
        done = at;
        match byte {
            b'{' | b'[' => {
                out.push(char::from(byte));
                if let Some(&end @ (b'}' | b']')) = bytes.get(at) {
                    out.push(char::from(end));
                    at += 1;
                    done = at;
                } else {
                    depth += 1;
                    line(&mut out, depth)?;
                }
            }
            b',' => {
                out.push(',');
                line(&mut out, depth)?;
            }
            b':' => out.push_str(": "),
            _ => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth)?;
                out.push(char::from(byte));
            }
        }
    }
    out.push_str(json.get(done..).unwrap_or(""));
    check(&out)?;
    Ok(out)
}

/// Returns the length of the string at the start of `bytes`, with its quotes.
pub(super) fn quoted_len(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(run) =
        bytes.get(at..).and_then(|rest| find(rest, |word| word.equal(b'"') | word.equal(b'\\')))
    {
        at += run;
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            _ => at += 2,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation_stops_at_the_limit() {
        let json = "[".repeat(1000) + &"0,".repeat(1000) + "0" + &"]".repeat(1000);
        let size = indent(&json, "    ", usize::MAX).unwrap().len();
        assert!(size > 1000 * json.len(), "{size}");
        assert!(indent(&json, "    ", size - 1).unwrap_err().is_limit());
        assert_eq!(indent(&json, "    ", size).unwrap().len(), size);
    }
}
