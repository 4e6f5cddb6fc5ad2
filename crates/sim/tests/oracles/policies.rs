//! Policies that are oracles and no strategies of ours: they look at every queue for each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use evenkeel_core::strategy::{
    Cursor, Descriptor, Inputs, Members, Params, Place, Strategy, Table, Traits, Value,
};
use evenkeel_core::unpoisoned;

/// Joins the shortest queue; one of the shortest, by chance.
pub(crate) fn shortest() -> Arc<dyn Strategy> {
    Arc::new(Policy::Shortest)
}

/// Joins an idle queue (Lu and others, 2011): a server that becomes idle enters the list of one of so many
/// dispatchers, by chance; each sends to the first of its own list, and by chance if that is empty.
pub(crate) fn idle(dispatchers: usize) -> Arc<dyn Strategy> {
    Arc::new(Policy::Idle(dispatchers))
}

#[derive(Clone, Copy, Debug)]
enum Policy {
    Shortest,
    Idle(usize),
}

static DESCRIPTOR: Descriptor = Descriptor {
    name: "oracle",
    aliases: &[],
    summary: "an oracle",
    advice: "None.",
    cost: "O(n)",
    source: "this test",
    params: &[],
    traits: Traits {
        load_aware: true,
        ..Traits::NONE
    },
    build: |_: &Params| shortest(),
};

impl Strategy for Policy {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn params(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn table(&self, members: &Members<'_>) -> Box<dyn Table> {
        let all: Vec<u32> = members.eligible().to_vec();
        match self {
            Self::Shortest => Box::new(Shortest(all)),
            Self::Idle(dispatchers) => Box::new(Idle {
                lists: Mutex::new(Lists {
                    of: vec![VecDeque::new(); *dispatchers],
                    is_listed: vec![false; all.len()],
                }),
                all,
            }),
        }
    }
}

#[derive(Debug)]
struct Shortest(Vec<u32>);

impl Table for Shortest {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let mut tied = Vec::new();
        let mut least = u32::MAX;
        for index in &self.0 {
            let length = inputs.load(*index).in_flight;
            if length < least {
                (least, tied) = (length, Vec::new());
            }
            if length == least {
                tied.push(*index);
            }
        }
        let (at, _) = inputs.draw(tied.len() as u64);
        tied.get(at as usize).copied()
    }
}

#[derive(Debug)]
struct Idle {
    all: Vec<u32>,
    lists: Mutex<Lists>,
}

#[derive(Debug)]
struct Lists {
    of: Vec<VecDeque<usize>>,
    is_listed: Vec<bool>,
}

impl Table for Idle {
    fn cursor(&self, _place: Place) -> Cursor {
        Cursor::None
    }

    /// Requests come to each dispatcher by chance, so that one balancer stands for all of them. What has become idle
    /// is seen with the next request, before which nobody could have used it.
    fn choose(&self, _cursor: &mut Cursor, inputs: &mut Inputs<'_>) -> Option<u32> {
        let mut lists = unpoisoned(self.lists.lock());
        let dispatchers = lists.of.len() as u64;
        for (at, index) in self.all.iter().enumerate() {
            if !lists.is_listed[at] && inputs.load(*index).in_flight == 0 {
                let (list, _) = inputs.draw(dispatchers);
                lists.of[list as usize].push_back(at);
                lists.is_listed[at] = true;
            }
        }
        let (dispatcher, _) = inputs.draw(dispatchers);
        if let Some(at) = lists.of[dispatcher as usize].pop_front() {
            lists.is_listed[at] = false;
            return Some(self.all[at]);
        }
        let (at, _) = inputs.draw(self.all.len() as u64);
        self.all.get(at as usize).copied()
    }
}
