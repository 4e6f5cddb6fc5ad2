//! Smooth weighted round robin as it is usually written: every pick walks over every endpoint.
//! It gives the same choices as the schedule with a heap, and shows what the heap saves.

use crate::contender::{Build, Case, Contender, Entry, weight};

pub(crate) fn entries() -> Vec<Entry> {
    let applies = |case| {
        case == Case {
            endpoints: 1_000,
            threads: 1,
        }
    };
    let entry = Entry::new("reference", "weighted_round_robin", build());
    vec![Entry { applies, ..entry }]
}

struct SmoothScan {
    weights: Vec<i64>,
    current: Vec<i64>,
    held: Vec<usize>,
}

impl SmoothScan {
    fn new(endpoints: usize) -> Self {
        let weights = (0..endpoints).map(|i| i64::from(weight(i))).collect();
        Self {
            weights,
            current: vec![0; endpoints],
            held: Vec::new(),
        }
    }

    fn next(&mut self) -> usize {
        let (mut best, mut total) = (0, 0);
        for (i, weight) in self.weights.iter().enumerate() {
            self.current[i] += weight;
            total += weight;
            if self.current[i] > self.current[best] {
                best = i;
            }
        }
        self.current[best] -= total;
        best
    }
}

impl Contender for SmoothScan {
    fn pick(&mut self, picks: usize) {
        for _ in 0..picks {
            let choice = self.next();
            self.held.push(choice);
        }
    }

    fn release(&mut self) {
        self.held.clear();
    }
}

fn build() -> Build {
    Box::new(|case| {
        let contender = |_| Box::new(SmoothScan::new(case.endpoints)) as Box<dyn Contender>;
        Ok((0..case.threads).map(contender).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_five_one_one_give_the_known_order() {
        let mut scan = SmoothScan::new(3);
        scan.weights = vec![5, 1, 1];
        let order: Vec<_> = (0..7).map(|_| scan.next()).collect();
        assert_eq!(order, [0, 0, 1, 0, 2, 0, 0]);
    }
}
