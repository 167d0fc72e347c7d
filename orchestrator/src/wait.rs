//! Waits that stop a thread, for a lock or another process, inside asynchronous work.
//!
//! What else runs on that thread goes to another one meanwhile, so that a disk or a database that is held
//! stops the one who needs it and nobody else.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Does what may stop this thread for a while.
pub fn waiting<T>(work: impl FnOnce() -> T) -> T {
    let has_other_threads = Handle::try_current()
        .is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if has_other_threads { block_in_place(work) } else { work() }
}

/// Takes a lock, and waits for whoever has it. A fault of an earlier owner changes nothing: what is under
/// our locks is whole between any two steps.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            waiting(|| mutex.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }
}
