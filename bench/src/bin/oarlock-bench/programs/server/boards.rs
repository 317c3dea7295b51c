//! The paper's boards, simulated behind a server, with clients that have one connection each.

use oarlock_measure::Error;

use super::host::Home;
use super::load::{ClientLoad, LoadReport, ONE};
use super::sides::{PAPER, turns};
use crate::programs::compared::{Compared, Quantity};
use crate::programs::setup::Setup;

/// A board, or both, and the clients' batch size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Boards {
    pub(crate) board: Board,
    pub(crate) has_tls: bool,
    /// Requests that a client sends at once.
    pub(crate) batch: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Board {
    Axl200,
    Nfast300,
    /// The nFast 300 with CRT.
    Nfast300Crt,
    /// Both boards, with CRT.
    Together,
}

impl Boards {
    pub(crate) fn is_together(self) -> bool {
        self.board == Board::Together
    }

    /// Table 1 of the paper: client threads, and operations per second.
    pub(crate) fn paper(self) -> &'static [(usize, f64)] {
        match self.board {
            Board::Axl200 => &[(1, 10.85), (25, 265.98)],
            Board::Nfast300 => &[(1, 11.67), (10, 92.40), (30, 93.28), (32, 93.30)],
            Board::Nfast300Crt => &[(1, 37.00), (10, 288.92), (30, 297.74), (32, 299.97)],
            Board::Together => &[],
        }
    }

    /// Table 2 of the paper: milliseconds per operation on the board itself, one at a time.
    fn paper_ms(self) -> Option<f64> {
        match self.board {
            Board::Axl200 => Some(92.19),
            Board::Nfast300 => Some(85.68),
            Board::Nfast300Crt => Some(27.03),
            Board::Together => None,
        }
    }

    pub(super) fn measure(self, setup: &Setup, home: &Home) -> Result<Vec<Compared>, Error> {
        let presets: &[&str] = match self.board {
            Board::Axl200 => &["axl200"],
            Board::Nfast300 | Board::Nfast300Crt => &["nfast300"],
            Board::Together => &["axl200", "nfast300"],
        };
        let devices = presets.iter().map(|preset| {
            format!(
                "[[device]]\nname = \"{preset}\"\nkind = \"simulated\"\npreset = \"{preset}\"\n\
                 workers = {WORKERS}\n"
            )
        });
        let host = home.serve(self.has_tls, &devices.collect::<String>())?;
        let points: Vec<(usize, f64)> = match self.board {
            // Client counts beyond the plateau of both boards.
            Board::Together => TOGETHER.map(|clients| (clients, BOTH)).into(),
            _ => self.paper().to_vec(),
        };
        let samples = turns(setup.rounds(3, 1), points.len(), |point| {
            let load = ClientLoad {
                kind: match self.board {
                    Board::Nfast300Crt | Board::Together => "mod-exp-crt",
                    Board::Axl200 | Board::Nfast300 => "mod-exp",
                },
                connections: points[point].0.div_ceil(self.batch),
                batch: self.batch,
                warm_up: 1.0,
                seconds: if setup.quick { 5.0 } else { 10.0 },
                ..ONE
            };
            home.ask(&[&host], load)?.checked()
        })?;
        let mut all = Vec::new();
        for ((clients, paper), reports) in points.into_iter().zip(&samples) {
            let figure = match self.board {
                Board::Together => Quantity::Operations,
                _ => Quantity::AsTheBoard,
            };
            let rates = reports.iter().map(LoadReport::per_second);
            if let (1, Some(ms)) = (clients, self.paper_ms()) {
                let took = reports.iter().map(|report| report.us_p50 / 1e3);
                all.push(Compared {
                    threads: Some(clients),
                    ..Compared::new(
                        Quantity::Milliseconds,
                        PAPER,
                        took.collect(),
                        vec![ms; reports.len()],
                    )
                });
            }
            all.push(Compared {
                threads: Some(clients),
                ..Compared::new(figure, PAPER, rates.collect(), vec![paper; reports.len()])
            });
        }
        if self.is_together() {
            // The best of the sweep is the boards' combined rate.
            all.sort_by(|a, b| b.medians().0.total_cmp(&a.medians().0));
        }
        Ok(all)
    }
}

/// The workers of each board, as in the paper.
const WORKERS: usize = 30;
const TOGETHER: [usize; 4] = [54, 60, 66, 96];
/// The sum of the boards' best separate rates.
const BOTH: f64 = 265.98 + 299.97;
