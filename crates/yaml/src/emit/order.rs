//! Sorts keys as `sorter.go` of go-yaml does: letters after other characters, and numbers by value.

use std::cmp::Ordering;

use crate::json::Value;

/// Sorts the entries of a mapping.
///
/// The order of go-yaml is not transitive: `1a` is before `2`, `2` is before `10`, and `10` is
/// before `1a`. The sorting functions of the standard library may panic with such an order, so this
/// is a merge sort. Where Go's result depends on the random order of its maps, this result depends
/// only on the bytes of the keys.
pub(super) fn sort<'a>(entries: Vec<(&'a str, Value<'a>)>) -> Vec<(&'a str, Value<'a>)> {
    let mut sorted = entries;
    let mut width = 1;
    if sorted.is_sorted_by(|(a, _), (b, _)| compare(a, b) != Ordering::Greater) {
        return sorted;
    }
    while width < sorted.len() {
        let mut merged = Vec::with_capacity(sorted.len());
        for pair in sorted.chunks(2 * width) {
            let (left, right) = pair.split_at(width.min(pair.len()));
            merge(left, right, &mut merged);
        }
        sorted = merged;
        width *= 2;
    }
    sorted
}

fn merge<'a>(
    mut left: &[(&'a str, Value<'a>)],
    mut right: &[(&'a str, Value<'a>)],
    merged: &mut Vec<(&'a str, Value<'a>)>,
) {
    while let ([a, more_left @ ..], [b, more_right @ ..]) = (left, right) {
        if compare(b.0, a.0) == Ordering::Less {
            merged.push(*b);
            right = more_right;
        } else {
            merged.push(*a);
            left = more_left;
        }
    }
    merged.extend_from_slice(left);
    merged.extend_from_slice(right);
}

/// Compares two keys as `keyList.Less`.
fn compare(a: &str, b: &str) -> Ordering {
    let mut digits_before = false;
    let (mut a_rest, mut b_rest) = (a.chars(), b.chars());
    loop {
        let (a_here, b_here) = (a_rest.as_str(), b_rest.as_str());
        let (a_char, b_char) = match (a_rest.next(), b_rest.next()) {
            (Some(a), Some(b)) => (a, b),
            (a, b) => return a.is_some().cmp(&b.is_some()),
        };
        if a_char == b_char {
            // Whether one of the digits just before is not 0.
            digits_before = a_char.is_ascii_digit() && (digits_before || a_char != '0');
            continue;
        }
        return match (a_char.is_alphabetic(), b_char.is_alphabetic()) {
            (true, true) => a_char.cmp(&b_char),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let start = i64::from(digits_before && (a_char == '0' || b_char == '0'));
                let (a_number, b_number) = (number(a_here, start), number(b_here, start));
                a_number.cmp(&b_number).then(a_char.cmp(&b_char))
            }
        };
    }
}

/// Returns the value and the number of the digits at the start of `text`.
fn number(text: &str, start: i64) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((start, 0), |(value, len), digit| {
        // Go wraps around.
        (value.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')), len + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_go_yaml() {
        let keys = [
            "", "-", "0", "00", "1", "01", "2", "10", "A", "B", "a", "a-b", "a2", "a10", "ab", "é",
        ];
        for (at, a) in keys.iter().enumerate() {
            for (other, b) in keys.iter().enumerate() {
                assert_eq!(compare(a, b), at.cmp(&other), "{a} {b}");
            }
        }
    }

    #[test]
    fn an_order_that_is_not_transitive_does_not_panic() {
        let keys: Vec<_> = (0..1_000_u32)
            .map(|n| format!("{}{}", n % 13, ["", "a", "b1"][n as usize % 3]))
            .collect();
        assert_eq!((compare("1a", "2"), compare("2", "10")), (Ordering::Less, Ordering::Less));
        assert_eq!(compare("10", "1a"), Ordering::Less);
        let json = format!(
            "{{{}}}",
            keys.iter().map(|key| format!("\"{key}\":0")).collect::<Vec<_>>().join(",")
        );
        let tree = crate::read_json(json.as_bytes(), &crate::Limits::default()).unwrap();
        assert_eq!(sort(tree.root().entries().collect()).len(), 39);
    }
}
