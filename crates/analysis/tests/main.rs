//! Searches and statistics, judged in worlds whose truth is known.

mod clients;
mod knee_worlds;
mod worlds;
