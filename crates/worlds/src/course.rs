//! The pace at which a target serves over time.

use crate::dice::Dice;

/// What a course is told in: everything shorter is part of a step.
pub const STEP_MS: u64 = 10;

/// One visit of a target: its pace, step after step, around the mean that the target tells.
pub struct Course {
    step: Box<dyn FnMut(&mut Dice) -> f64>,
    dice: Dice,
}

impl Course {
    /// A course of which `step` tells the pace of the next [`STEP_MS`].
    pub fn new(dice: Dice, step: impl FnMut(&mut Dice) -> f64 + 'static) -> Self {
        Course { step: Box::new(step), dice }
    }

    /// The pace of the next step: never below 0.
    pub fn step(&mut self) -> f64 {
        (self.step)(&mut self.dice).max(0.0)
    }

    /// The mean pace of the next `ms`, in whole steps.
    pub fn over(&mut self, ms: u64) -> f64 {
        let steps = (ms / STEP_MS).max(1);
        (0..steps).map(|_| self.step()).sum::<f64>() / steps as f64
    }

    /// A stream of chance that the course does not use.
    #[must_use]
    pub fn fork(&mut self) -> Dice {
        self.dice.fork()
    }

    /// The same course, of which every step is changed: its number counts from 0.
    #[must_use]
    pub fn then(mut self, mut change: impl FnMut(u64, f64) -> f64 + 'static) -> Self {
        let (dice, mut number) = (self.fork(), 0);
        Course::new(dice, move |_| {
            let pace = change(number, self.step());
            number += 1;
            pace
        })
    }
}
