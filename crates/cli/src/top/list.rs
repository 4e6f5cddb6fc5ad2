//! A list on the screen: what of it is chosen, and which part of it is seen.

/// Where a reader is in a list. What is chosen stays chosen while the list around it changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// None while the reader has not moved: then it is the first one, whichever that is.
    key: Option<String>,
    /// Where it was when it was last seen.
    at: usize,
}

impl Place {
    /// Which of `keys` is chosen; 0 in an empty list.
    pub(super) fn index(&self, keys: &[String]) -> usize {
        let Some(key) = &self.key else {
            return 0;
        };
        let found = keys.iter().position(|it| it == key);
        found.unwrap_or_else(|| self.at.min(keys.len().saturating_sub(1)))
    }

    /// Goes so far, down for numbers above 0, to the ends at most.
    pub(super) fn go(&mut self, keys: &[String], by: isize) {
        let last = keys.len().saturating_sub(1);
        let at = self.index(keys).saturating_add_signed(by).min(last);
        self.at = at;
        // At the top one sees what is new.
        self.key = keys.get(at).filter(|_| at > 0).cloned();
    }
}

/// The first line of the page on which `index` is. By pages, and not line by line: most steps then
/// change two lines of the screen, which a slow line takes easily.
pub(super) fn page_start(index: usize, rows: usize) -> usize {
    index / rows.max(1) * rows.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        text.chars().map(String::from).collect()
    }

    #[test]
    fn what_is_chosen_stays_chosen_where_the_list_changes() {
        let mut place = Place::default();
        place.go(&keys("abc"), 1);
        assert_eq!(place.index(&keys("abc")), 1);
        assert_eq!(place.index(&keys("xyab")), 3);
        assert_eq!(place.index(&keys("xyz")), 1, "gone: where it was");
        assert_eq!(place.index(&keys("x")), 0);
        assert_eq!(place.index(&[]), 0);
    }

    #[test]
    fn at_the_top_it_follows_what_is_new() {
        let mut place = Place::default();
        place.go(&keys("abc"), 2);
        place.go(&keys("abc"), -5);
        assert_eq!(place.index(&keys("xabc")), 0);
        place.go(&[], 1);
        assert_eq!(place.index(&[]), 0);
    }

    #[test]
    fn pages_begin_at_multiples_of_their_rows() {
        assert_eq!([0, 9, 10, 25].map(|i| page_start(i, 10)), [0, 0, 10, 20]);
        assert_eq!(page_start(3, 0), 3);
    }
}
