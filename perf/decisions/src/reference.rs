//! Smooth weighted round robin as it is usually written: every pick walks over every endpoint. It
//! gives the same choices as our schedule, and shows what that saves.

use crate::contender::{Case, Contender, Entry, weight};
use evenkeel_core::reference::SmoothWeightedRoundRobin;

pub(crate) fn entries() -> Vec<Entry> {
    let build = |case: Case| {
        let weights: Vec<u32> = (0..case.endpoints).map(|i| u32::from(weight(i))).collect();
        let contender = |_| {
            let scan = SmoothWeightedRoundRobin::new(&weights);
            Box::new(Scan {
                scan,
                held: Vec::new(),
            }) as Box<dyn Contender>
        };
        Ok((0..case.threads).map(contender).collect())
    };
    let entry = Entry::new("reference", "weighted_round_robin", Box::new(build));
    let applies = |case| {
        case == Case {
            endpoints: 1_000,
            threads: 1,
        }
    };
    vec![Entry { applies, ..entry }]
}

struct Scan {
    scan: SmoothWeightedRoundRobin,
    held: Vec<usize>,
}

impl Contender for Scan {
    fn pick(&mut self, picks: usize) {
        let Self { scan, held } = self;
        held.extend((0..picks).map(|_| scan.next_index()));
    }

    fn release(&mut self) {
        self.held.clear();
    }
}
