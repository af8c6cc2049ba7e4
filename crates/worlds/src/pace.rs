//! The pace at which a target serves over time.

use crate::rng::SeededRng;

/// What a course is told in: everything shorter is part of a step.
pub const STEP_MS: u64 = 10;

/// One visit of a target: its pace, step after step, around the mean that the target tells.
pub struct TargetPace {
    step: Box<dyn FnMut(&mut SeededRng) -> f64>,
    rng: SeededRng,
}

impl TargetPace {
    /// A course of which `step` tells the pace of the next [`STEP_MS`].
    pub fn new(rng: SeededRng, step: impl FnMut(&mut SeededRng) -> f64 + 'static) -> Self {
        TargetPace { step: Box::new(step), rng }
    }

    /// The pace of the next step: never below 0.
    pub fn step(&mut self) -> f64 {
        (self.step)(&mut self.rng).max(0.0)
    }

    /// The mean pace of the next `ms`, in whole steps.
    pub fn over(&mut self, ms: u64) -> f64 {
        let steps = (ms / STEP_MS).max(1);
        (0..steps).map(|_| self.step()).sum::<f64>() / steps as f64
    }

    /// A stream of chance that the course does not use.
    #[must_use]
    pub fn fork(&mut self) -> SeededRng {
        self.rng.fork()
    }

    /// The same course, of which every step is changed: its number counts from 0.
    #[must_use]
    pub fn then(mut self, mut change: impl FnMut(u64, f64) -> f64 + 'static) -> Self {
        let (rng, mut number) = (self.fork(), 0);
        TargetPace::new(rng, move |_| {
            let pace = change(number, self.step());
            number += 1;
            pace
        })
    }
}
