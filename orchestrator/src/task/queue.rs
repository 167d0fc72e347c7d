//! Which tasks work and which wait: first in, first out.

use std::collections::VecDeque;

/// How many tasks work at once, waits for a person included.
pub const SLOTS: usize = 2;

/// Ids of tasks that work and of tasks that wait.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    working: Vec<String>,
    waiting: VecDeque<String>,
}

impl Queue {
    /// A task came. True when it holds a slot from now on, false when it waits.
    pub fn enter(&mut self, id: &str) -> bool {
        let free = self.working.len() < SLOTS && self.waiting.is_empty();
        if free {
            self.working.push(id.to_owned());
        } else {
            self.waiting.push_back(id.to_owned());
        }
        free
    }

    /// Whether that task waits for a slot.
    pub fn is_waiting(&self, id: &str) -> bool {
        self.waiting.iter().any(|waiting| waiting == id)
    }

    /// Whether no task holds a slot.
    pub fn is_idle(&self) -> bool {
        self.working.is_empty()
    }

    /// A task ended, wherever it stood. Gives the one that holds its slot from now on.
    pub fn leave(&mut self, id: &str) -> Option<String> {
        self.waiting.retain(|waiting| waiting != id);
        self.working.retain(|working| working != id);
        if self.working.len() >= SLOTS {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.working.push(next.clone());
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_work_and_the_oldest_follows() {
        let mut queue = Queue::default();
        assert!(queue.enter("a") && queue.enter("b"));
        assert!(!queue.enter("c") && !queue.enter("d") && !queue.enter("e"));
        assert_eq!(queue.leave("d"), None);
        assert_eq!(queue.leave("a").as_deref(), Some("c"));
        assert_eq!(queue.leave("a"), None);
        assert_eq!(queue.leave("b").as_deref(), Some("e"));
        assert_eq!(queue.leave("c"), None);
        assert_eq!(queue.leave("e"), None);
        assert!(queue.enter("f"));
    }
}
