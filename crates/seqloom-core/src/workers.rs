//! Worker threads that run jobs and return them in order.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::threads::{SharedState, Threads};

/// A job that uses only its own data and a workspace.
pub trait Job: Send + 'static {
    /// The workspace: memory that jobs reuse. Each thread and the owner of the threads
    /// have a separate workspace.
    type Workspace: Send;

    /// Creates a workspace for another thread.
    fn workspace(&self) -> Self::Workspace;

    /// Runs the job.
    fn run(&mut self, workspace: &mut Self::Workspace);

    /// Marks the job as failed after a panic.
    fn mark_failed(&mut self);
}

/// The owner's handle of the threads. The threads end when the handle is dropped.
#[derive(Debug)]
pub struct Workers<J: Job>(Threads<JobQueue<J>>);

/// The jobs that the threads share with their owner.
#[derive(Debug)]
struct JobQueue<J> {
    state: Mutex<QueueState<J>>,
    for_owner: Condvar,
    for_threads: Condvar,
}

#[derive(Debug)]
struct QueueState<J> {
    /// The jobs that no thread has started, with their numbers.
    waiting: VecDeque<(u64, J)>,
    /// The jobs in order, starting with number `first`. A job that is not finished is
    /// `None`.
    finished: VecDeque<Option<J>>,
    first: u64,
    closed: bool,
    /// The number of sleeping threads and the number of sleeping owners. These counts
    /// avoid needless wake-ups, because a wake-up is a system call even if no thread
    /// sleeps.
    idle_threads: usize,
    idle_owners: usize,
}

impl<J: Job> Workers<J> {
    /// Starts `count` threads with the given name, or fewer if the system cannot create
    /// one of them.
    pub fn start(name: &str, count: usize) -> Self {
        let state = QueueState {
            waiting: VecDeque::new(),
            finished: VecDeque::new(),
            first: 0,
            closed: false,
            idle_threads: 0,
            idle_owners: 0,
        };
        let queue = JobQueue {
            state: Mutex::new(state),
            for_owner: Condvar::new(),
            for_threads: Condvar::new(),
        };
        Self(Threads::start(name, count, queue, JobQueue::run_jobs))
    }

    /// Returns whether the threads run in this process.
    pub fn is_in_this_process(&self) -> bool {
        self.0.is_in_this_process()
    }

    /// Returns whether no thread was started, so that the owner runs all jobs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of jobs that were added and not yet taken.
    pub fn pending(&self) -> usize {
        self.0.shared().lock().finished.len()
    }

    /// Adds a job for the next free thread.
    pub fn push(&self, job: J) {
        let mut state = self.0.shared().lock();
        let number = state.next_number();
        state.finished.push_back(None);
        state.waiting.push_back((number, job));
        let has_sleepers = state.idle_threads > 0;
        drop(state);
        if has_sleepers {
            self.0.shared().for_threads.notify_one();
        }
    }

    /// Removes and returns the next job in order, or returns `None` if no job is
    /// pending. Instead of waiting for a thread, the caller runs a job that no thread
    /// has started.
    pub fn pop(&self, workspace: &mut J::Workspace) -> Option<J> {
        let mut state = self.0.shared().lock();
        loop {
            if state.finished.front()?.is_some() {
                state.first += 1;
                return state.finished.pop_front().flatten();
            }
            if let Some((number, mut job)) = state.waiting.pop_front() {
                drop(state);
                run_job(&mut job, workspace);
                state = self.0.shared().lock();
                state.finish_job(number, job);
                continue;
            }
            state.idle_owners += 1;
            state = wait_for_signal(&self.0.shared().for_owner, state);
            state.idle_owners -= 1;
        }
    }
}

impl<J: Job> SharedState for JobQueue<J> {
    fn close(&self) {
        self.lock().closed = true;
        self.for_threads.notify_all();
    }
}

impl<J: Job> JobQueue<J> {
    fn lock(&self) -> MutexGuard<'_, QueueState<J>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs jobs until the queue is closed; each thread calls this function.
    fn run_jobs(&self) {
        let mut workspace = None;
        while let Some((number, mut job)) = self.next_job() {
            let workspace = workspace.get_or_insert_with(|| job.workspace());
            run_job(&mut job, workspace);
            let mut state = self.lock();
            state.finish_job(number, job);
            let has_sleepers = state.idle_owners > 0;
            drop(state);
            if has_sleepers {
                self.for_owner.notify_one();
            }
        }
    }

    fn next_job(&self) -> Option<(u64, J)> {
        let mut state = self.lock();
        while !state.closed {
            if let Some(waiting) = state.waiting.pop_front() {
                return Some(waiting);
            }
            state.idle_threads += 1;
            state = wait_for_signal(&self.for_threads, state);
            state.idle_threads -= 1;
        }
        None
    }
}

impl<J> QueueState<J> {
    fn next_number(&self) -> u64 {
        let pending = u64::try_from(self.finished.len()).unwrap_or(u64::MAX);
        self.first.saturating_add(pending)
    }

    fn finish_job(&mut self, number: u64, job: J) {
        let position = usize::try_from(number - self.first).ok();
        if let Some(slot) = position.and_then(|position| self.finished.get_mut(position)) {
            *slot = Some(job);
        }
    }
}

fn wait_for_signal<'a, S>(signal: &Condvar, state: MutexGuard<'a, S>) -> MutexGuard<'a, S> {
    signal.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// Runs one job. A panic is recorded in the job, so that its owner does not wait for ever.
fn run_job<J: Job>(job: &mut J, workspace: &mut J::Workspace) {
    let attempt = AssertUnwindSafe(|| job.run(workspace));
    if catch_unwind(attempt).is_err() {
        job.mark_failed();
    }
}
