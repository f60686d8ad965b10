//! Threads that do jobs; the jobs come back in order.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::threads::{Shared, Threads};

/// Work that needs nothing but itself and a tool.
pub trait Job: Send + 'static {
    /// What each thread has one of, and whoever waits for the job too.
    type Tool: Send;

    /// A tool for another thread.
    fn tool(&self) -> Self::Tool;

    /// Does the work.
    fn work(&mut self, tool: &mut Self::Tool);

    /// Notes that the work was not done: it has panicked.
    fn fail(&mut self);
}

/// The threads, as whoever gives them jobs sees them. They end when this is dropped.
#[derive(Debug)]
pub struct Workers<J: Job>(Threads<Board<J>>);

/// What all of them see.
#[derive(Debug)]
struct Board<J> {
    state: Mutex<State<J>>,
    for_owner: Condvar,
    for_threads: Condvar,
}

#[derive(Debug)]
struct State<J> {
    /// Jobs that nobody has begun, with their numbers.
    waiting: VecDeque<(u64, J)>,
    /// Jobs in order from number `first` on; nothing where one is not finished.
    finished: VecDeque<Option<J>>,
    first: u64,
    closed: bool,
    /// Who sleeps: waking nobody would be a call of the system, too.
    idle_threads: usize,
    idle_owners: usize,
}

impl<J> Default for State<J> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            finished: VecDeque::new(),
            first: 0,
            closed: false,
            idle_threads: 0,
            idle_owners: 0,
        }
    }
}

impl<J: Job> Workers<J> {
    /// Starts up to `count` threads of this name; fewer where no more can be had.
    pub fn start(name: &str, count: usize) -> Self {
        let board = Board {
            state: Mutex::default(),
            for_owner: Condvar::new(),
            for_threads: Condvar::new(),
        };
        Self(Threads::start(name, count, board, Board::work))
    }

    /// Whether this process is the one that has the threads.
    pub fn is_here(&self) -> bool {
        self.0.is_here()
    }

    /// Whether there are no threads but the owner's.
    pub fn is_alone(&self) -> bool {
        self.0.is_empty()
    }

    /// How many jobs were given and not taken back.
    pub fn pending(&self) -> usize {
        self.0.shared().lock().finished.len()
    }

    /// Gives a job to whoever is free.
    pub fn push(&self, job: J) {
        let mut state = self.0.shared().lock();
        let number = state.end();
        state.finished.push_back(None);
        state.waiting.push_back((number, job));
        let is_heard = state.idle_threads > 0;
        drop(state);
        if is_heard {
            self.0.shared().for_threads.notify_one();
        }
    }

    /// Takes the next job in order; nothing where none is pending. Instead of
    /// waiting for a thread, does a job that none has begun.
    pub fn pop(&self, tool: &mut J::Tool) -> Option<J> {
        let mut state = self.0.shared().lock();
        loop {
            if state.finished.front()?.is_some() {
                state.first += 1;
                return state.finished.pop_front().flatten();
            }
            if let Some((number, mut job)) = state.waiting.pop_front() {
                drop(state);
                work(&mut job, tool);
                state = self.0.shared().lock();
                state.finish(number, job);
                continue;
            }
            state.idle_owners += 1;
            state = wait(&self.0.shared().for_owner, state);
            state.idle_owners -= 1;
        }
    }
}

impl<J: Job> Shared for Board<J> {
    fn close(&self) {
        self.lock().closed = true;
        self.for_threads.notify_all();
    }
}

impl<J: Job> Board<J> {
    fn lock(&self) -> MutexGuard<'_, State<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a thread does.
    fn work(&self) {
        let mut tool = None;
        while let Some((number, mut job)) = self.next() {
            let tool = tool.get_or_insert_with(|| job.tool());
            work(&mut job, tool);
            let mut state = self.lock();
            state.finish(number, job);
            let is_heard = state.idle_owners > 0;
            drop(state);
            if is_heard {
                self.for_owner.notify_one();
            }
        }
    }

    fn next(&self) -> Option<(u64, J)> {
        let mut state = self.lock();
        while !state.closed {
            if let Some(found) = state.waiting.pop_front() {
                return Some(found);
            }
            state.idle_threads += 1;
            state = wait(&self.for_threads, state);
            state.idle_threads -= 1;
        }
        None
    }
}

impl<J> State<J> {
    /// The number of the next job.
    fn end(&self) -> u64 {
        let held = u64::try_from(self.finished.len()).unwrap_or(u64::MAX);
        self.first.saturating_add(held)
    }

    fn finish(&mut self, number: u64, job: J) {
        let position = usize::try_from(number - self.first).ok();
        if let Some(slot) = position.and_then(|position| self.finished.get_mut(position)) {
            *slot = Some(job);
        }
    }
}

fn wait<'a, J>(signal: &Condvar, state: MutexGuard<'a, State<J>>) -> MutexGuard<'a, State<J>> {
    signal.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// Works; a panic is told to the job, so that nobody waits for it.
fn work<J: Job>(job: &mut J, tool: &mut J::Tool) {
    let attempt = AssertUnwindSafe(|| job.work(tool));
    if catch_unwind(attempt).is_err() {
        job.fail();
    }
}
