//! Smooth weighted round robin by scanning, as nginx does it.
//!
//! Source: nginx change of May 2012, `ngx_http_upstream_round_robin.c`. Every endpoint gains its
//! weight, the one with the most is taken and pays the total.

/// The scan: O(n) for each pick.
///
/// # Examples
///
/// ```
/// use evenkeel_core::reference::SmoothWeightedRoundRobin;
///
/// let mut scan = SmoothWeightedRoundRobin::new(&[5, 1, 1]);
/// let picks: Vec<usize> = (0..7).map(|_| scan.next_index()).collect();
/// assert_eq!(picks, [0, 0, 1, 0, 2, 0, 0]);
/// ```
#[derive(Clone, Debug)]
pub struct SmoothWeightedRoundRobin {
    weights: Vec<i64>,
    current: Vec<i64>,
    total: i64,
}

impl SmoothWeightedRoundRobin {
    /// Starts with nothing owed to anyone.
    #[must_use]
    pub fn new(weights: &[u32]) -> Self {
        let weights: Vec<i64> = weights.iter().map(|weight| i64::from(*weight)).collect();
        Self {
            current: vec![0; weights.len()],
            total: weights.iter().sum(),
            weights,
        }
    }

    /// The next endpoint; of those that tie the first.
    ///
    /// # Panics
    ///
    /// When there are no weights.
    pub fn next_index(&mut self) -> usize {
        let mut best = 0;
        for at in 0..self.weights.len() {
            self.current[at] += self.weights[at];
            if self.current[at] > self.current[best] {
                best = at;
            }
        }
        self.current[best] -= self.total;
        best
    }

    /// What each endpoint is owed; adds up to 0 after every pick.
    #[must_use]
    pub fn current(&self) -> &[i64] {
        &self.current
    }
}

/// One whole cycle: as many picks as the weights add up to. O(n x sum).
///
/// # Examples
///
/// ```
/// use evenkeel_core::reference::smooth_cycle;
///
/// assert_eq!(smooth_cycle(&[2, 1]), [0, 1, 0]);
/// ```
#[must_use]
pub fn smooth_cycle(weights: &[u32]) -> Vec<usize> {
    let length: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let mut scan = SmoothWeightedRoundRobin::new(weights);
    (0..length).map(|_| scan.next_index()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(weights: &[u32]) -> String {
        smooth_cycle(weights)
            .into_iter()
            .map(|at| char::from(b'A' + at as u8))
            .collect()
    }

    /// The first three are the examples that nginx and others give for the algorithm; the others
    /// were worked out by hand in the same way.
    #[test]
    fn cycles_are_those_worked_out_by_hand() {
        assert_eq!(letters(&[5, 1]), "AAABAA");
        assert_eq!(letters(&[2, 1]), "ABA");
        assert_eq!(letters(&[5, 1, 1]), "AABACAA");
        assert_eq!(letters(&[3, 2]), "ABABA");
        assert_eq!(letters(&[4, 2, 1]), "ABACABA");
        assert_eq!(letters(&[2, 7, 1]), "BABBBCBABB");
        assert_eq!(letters(&[3, 1, 1, 1]), "ABACDA");
        assert_eq!(letters(&[1, 1, 1]), "ABC");
    }

    /// Weights 5 and 1: what each is owed after every pick of a cycle.
    #[test]
    fn what_is_owed_comes_back_to_nothing() {
        let mut scan = SmoothWeightedRoundRobin::new(&[5, 1]);
        let states: Vec<Vec<i64>> = (0..6)
            .map(|_| {
                scan.next_index();
                scan.current().to_vec()
            })
            .collect();
        let expected = [[-1, 1], [-2, 2], [-3, 3], [2, -2], [1, -1], [0, 0]];
        assert_eq!(states, expected.map(|state| state.to_vec()));
    }
}
