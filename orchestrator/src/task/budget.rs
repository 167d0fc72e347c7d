//! How much of its budget a task has used up. Time is fed in; nothing here reads a clock.

use super::input::Budget;

/// The time a task may work. It stands still while a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallClock {
    limit: u64,
    used: u64,
    since: Option<u64>,
}

impl WallClock {
    /// A clock that stands still; `limit` in milliseconds.
    pub const fn new(limit: u64) -> Self {
        Self { limit, used: 0, since: None }
    }

    /// Goes on at `now`, milliseconds on any clock that never goes back.
    pub fn resume(&mut self, now: u64) {
        if self.since.is_none() {
            self.since = Some(now);
        }
    }

    /// Stands still from `now` on.
    pub fn pause(&mut self, now: u64) {
        self.used = self.used_at(now);
        self.since = None;
    }

    /// Milliseconds left at `now`; none while it stands still.
    pub fn left(&self, now: u64) -> Option<u64> {
        self.since.map(|_| self.limit.saturating_sub(self.used_at(now)))
    }

    fn used_at(&self, now: u64) -> u64 {
        self.used.saturating_add(self.since.map_or(0, |since| now.saturating_sub(since)))
    }
}

/// What a task has used up, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    budget: Budget,
    calls: u64,
    tokens: u64,
    /// The time it may work.
    pub clock: WallClock,
}

impl Spent {
    /// Nothing yet.
    pub const fn new(budget: Budget) -> Self {
        Self { budget, calls: 0, tokens: 0, clock: WallClock::new(budget.wall_clock_ms) }
    }

    /// Counts one call of the model. False when it is one too many.
    pub fn call(&mut self) -> bool {
        self.calls = self.calls.saturating_add(1);
        self.calls <= self.budget.max_tool_calls
    }

    /// Counts tokens of a turn. False when they are too many.
    pub fn tokens(&mut self, input: u64, output: u64) -> bool {
        self.tokens = self.tokens.saturating_add(input).saturating_add(output);
        self.tokens <= self.budget.max_tokens
    }

    /// Whether a further attempt may follow attempt number `iteration`.
    pub const fn may_try_again(&self, iteration: u64) -> bool {
        iteration < self.budget.max_iterations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_still_while_paused() {
        let mut clock = WallClock::new(100);
        assert_eq!(clock.left(5), None);
        clock.resume(10);
        assert_eq!(clock.left(10), Some(100));
        assert_eq!(clock.left(40), Some(70));
        clock.pause(40);
        assert_eq!(clock.left(4_000), None);
        clock.resume(5_000);
        clock.resume(5_010);
        assert_eq!(clock.left(5_069), Some(1));
        assert_eq!(clock.left(5_070), Some(0));
        assert_eq!(clock.left(9_000), Some(0));
        clock.pause(9_000);
        clock.resume(9_001);
        assert_eq!(clock.left(9_001), Some(0));
    }

    #[test]
    fn limits_are_the_last_figure_allowed() {
        let mut spent = Spent::new(Budget {
            max_iterations: 2,
            max_tool_calls: 2,
            max_tokens: 10,
            wall_clock_ms: 1,
        });
        assert!(spent.call() && spent.call() && !spent.call());
        assert!(spent.tokens(4, 6) && !spent.tokens(1, 0));
        assert!(!spent.tokens(u64::MAX, u64::MAX));
        assert!(spent.may_try_again(1) && !spent.may_try_again(2));
    }
}
