//! [`find`]: searches for bytes, eight at a time.

/// The number of bytes of a [`Word`].
const SIZE: usize = size_of::<u64>();
/// The lowest bit of each byte.
const ONES: u64 = u64::MAX / 0xff;
/// The highest bit of each byte.
const HIGHS: u64 = ONES << 7;

/// Eight bytes of a text, the first of which is the lowest.
///
/// The tests return a mask. Its lowest bit is in the first byte that matches. The bits above it may
/// be wrong (Bit Twiddling Hacks, "Determine if a word has a zero byte" and "Determine if a word
/// has a byte less than n").
#[derive(Clone, Copy)]
pub(crate) struct Word(u64);

impl Word {
    /// Tests for bytes that are equal to `byte`.
    pub(crate) fn equal(self, byte: u8) -> u64 {
        Self(self.differs(byte)).below(1)
    }

    /// Tests for bytes that are not equal to `byte`.
    pub(crate) fn differs(self, byte: u8) -> u64 {
        self.0 ^ (ONES * u64::from(byte))
    }

    /// Tests for bytes that are less than `limit`, which is at most 128.
    pub(crate) fn below(self, limit: u8) -> u64 {
        debug_assert!(limit <= 128, "the highest bit of a byte must show that it is not below");
        self.0.wrapping_sub(ONES * u64::from(limit)) & !self.0 & HIGHS
    }

    /// Sets `bits` in each byte.
    pub(crate) fn with(self, bits: u8) -> Self {
        Self(self.0 | (ONES * u64::from(bits)))
    }
}

/// Returns the position of the first byte that `test` accepts. `test` returns the union of masks.
pub(crate) fn find(bytes: &[u8], test: impl Fn(Word) -> u64) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<SIZE>();
    let position = |word: &[u8; SIZE]| {
        let mask = test(Word(u64::from_le_bytes(*word)));
        (mask != 0).then(|| mask.trailing_zeros() as usize / 8)
    };
    for (index, word) in words.iter().enumerate() {
        if let Some(at) = position(word) {
            return Some(index * SIZE + at);
        }
    }
    let mut last = [0; SIZE];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    position(&last).filter(|at| *at < rest.len()).map(|at| words.len() * SIZE + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_match_is_found_at_each_position() {
        let test = |word: Word| word.equal(b'"') | word.with(4).equal(b'&') | word.below(b' ');
        for len in 0..30 {
            for (other, next) in [(b'a', b'#'), (0xff, 0x1f), (b' ', b'"'), (0x80, b'&')] {
                let mut bytes = vec![other; len];
                assert_eq!(find(&bytes, test), None, "{len} {other}");
                for at in (0..len).rev() {
                    // A byte above the match, for which a mask may be wrong.
                    bytes.splice(at.., std::iter::once(0x1f).chain([next; 30]).take(len - at));
                    assert_eq!(find(&bytes, test), Some(at), "{len} {other}");
                }
            }
        }
    }

    #[test]
    fn each_byte_is_tested_exactly() {
        for byte in 0..=u8::MAX {
            let found = |test: fn(Word) -> u64| find(&[b'a', byte, b'a'], test).is_some();
            assert_eq!(found(|word| word.equal(b'"')), byte == b'"', "{byte}");
            assert_eq!(found(|word| word.equal(0xe2)), byte == 0xe2, "{byte}");
            assert_eq!(found(|word| word.differs(b'a')), byte != b'a', "{byte}");
            assert_eq!(found(|word| word.below(b' ')), byte < b' ', "{byte}");
            let is_either = matches!(byte, b'<' | b'>');
            assert_eq!(found(|word| word.with(2).equal(b'>')), is_either, "{byte}");
        }
    }
}
