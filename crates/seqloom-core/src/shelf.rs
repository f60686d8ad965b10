//! Vectors that are used again.
//!
//! Fresh pages cost several times what reused ones do: the system clears each
//! at its first touch. What fills a vector takes it from a [`Shelf`], and
//! whoever has done with it puts it back.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::thread;

/// At most so many vectors wait: a caller that kept a thousand batches and
/// then let go of them should not hold their memory for ever.
const MOST: usize = 16;

/// So often a shelf is tried that another thread looks into. In a forked child
/// that thread may not exist, and would be waited for without end.
const TRIES: usize = 100;

/// Vectors whose memory has been touched before. They keep their content: who
/// takes one clears it, or writes over it.
#[derive(Debug)]
pub struct Shelf<T>(Arc<Mutex<Vec<Vec<T>>>>);

impl<T> Clone for Shelf<T> {
    /// Another handle of the same shelf.
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Shelf<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Shelf<T> {
    /// The vector that was put back last, as it was, or a new one.
    pub fn take(&self) -> Vec<T> {
        let found = self.open().and_then(|mut waiting| waiting.pop());
        found.unwrap_or_default()
    }

    /// Puts a vector back.
    pub fn put(&self, vector: Vec<T>) {
        let waiting = self.open().filter(|waiting| waiting.len() < MOST);
        if let Some(mut waiting) = waiting {
            waiting.push(vector);
        }
    }

    /// The number of vectors that wait.
    pub fn len(&self) -> usize {
        self.open().map_or(0, |waiting| waiting.len())
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What waits; nothing where another thread does not let go of it.
    fn open(&self) -> Option<MutexGuard<'_, Vec<Vec<T>>>> {
        (0..TRIES).find_map(|_| match self.0.try_lock() {
            Ok(waiting) => Some(waiting),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => {
                thread::yield_now();
                None
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_put_back_is_lent_again() {
        let shelf = Shelf::default();
        let mut first: Vec<u8> = shelf.take();
        first.extend(b"ACGT");
        let (position, room) = (first.as_ptr(), first.capacity());
        shelf.clone().put(first);
        let second = shelf.take();
        assert_eq!((second.as_ptr(), second.capacity()), (position, room));
        assert!(shelf.is_empty());
    }

    #[test]
    fn a_shelf_that_nobody_closes_is_not_waited_for() {
        let shelf: Shelf<u8> = Shelf::default();
        shelf.put(vec![1]);
        let held = shelf.open();
        let other = shelf.clone();
        let found = thread::spawn(move || {
            other.put(vec![2]);
            other.take()
        });
        assert_eq!(found.join().unwrap(), Vec::new());
        drop(held);
        assert_eq!(shelf.take(), [1]);
    }

    #[test]
    fn a_shelf_keeps_a_bounded_number() {
        let shelf = Shelf::default();
        for _ in 0..2 * MOST {
            shelf.put(vec![0_u8]);
        }
        assert_eq!(shelf.len(), MOST);
    }
}
