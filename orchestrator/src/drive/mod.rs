//! Takes task inputs, answers of people, models, tools and the guard.
//! Gives tasks that run to their end, and their events in order.
//! May import task, guard, advisor, tool and model.
//! Never speaks a protocol, and never runs a call that is not cleared.
