//! The one answer to a request with several items.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::super::dispatch::{Answered, Outgoing, Output, Responder};
use super::Item;

/// Collects the answers to the pieces of a batch, and answers the request with the last of them, or with the first refusal.
pub struct Join {
    state: Mutex<State>,
    is_over: Arc<AtomicBool>,
}

struct State {
    /// The items of each piece, once they are there.
    pieces: Vec<Option<Vec<Item>>>,
    missing: usize,
    waited: Duration,
    served: Duration,
    device: Option<Arc<str>>,
    /// The responder; `None` once the request is answered.
    responder: Option<Responder>,
}

impl Join {
    /// Waits for this many pieces, and then calls `responder`.
    pub fn new(pieces: usize, is_over: Arc<AtomicBool>, responder: Responder) -> Arc<Self> {
        let state = State {
            pieces: (0..pieces).map(|_| None).collect(),
            missing: pieces,
            waited: Duration::ZERO,
            served: Duration::ZERO,
            device: None,
            responder: Some(responder),
        };
        Arc::new(Self {
            state: Mutex::new(state),
            is_over,
        })
    }

    /// Puts the answer to one piece in its place.
    pub fn put(&self, piece: usize, answered: Answered, outgoing: &mut Outgoing) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waited = state.waited.max(answered.waited);
        state.served = state.served.max(answered.served);
        state.device = answered.device.or(state.device.take());
        let outcome = match answered.outcome {
            Ok(Output::Items(items)) => {
                if state.pieces[piece].replace(items).is_none() {
                    state.missing -= 1;
                }
                if state.missing > 0 {
                    return;
                }
                let pieces = std::mem::take(&mut state.pieces);
                Ok(Output::Items(
                    pieces.into_iter().flatten().flatten().collect(),
                ))
            }
            Ok(bytes @ Output::Bytes(_)) => Ok(bytes),
            Err(refusal) => Err(refusal),
        };
        let Some(respond) = state.responder.take() else {
            return;
        };
        self.is_over.store(true, Ordering::Relaxed);
        let answered = Answered {
            outcome,
            waited: state.waited,
            served: state.served,
            device: state.device.take(),
        };
        drop(state);
        respond(answered, outgoing);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tonic::Code;
    use zeroize::Zeroizing;

    use super::super::super::dispatch::Refusal;
    use super::*;

    fn item(byte: u8) -> Item {
        Item {
            outcome: Ok(Zeroizing::new(vec![byte])),
            version: 0,
        }
    }

    fn answer(outcome: Result<Vec<Item>, Refusal>) -> Answered {
        Answered {
            outcome: outcome.map(Output::Items),
            waited: Duration::from_micros(2),
            served: Duration::from_micros(3),
            device: Some("cpu".into()),
        }
    }

    fn join(pieces: usize) -> (Arc<Join>, mpsc::Receiver<Answered>) {
        let (sender, receiver) = mpsc::channel();
        let responder = Box::new(move |answered, _: &mut Outgoing| sender.send(answered).unwrap());
        (Join::new(pieces, Arc::default(), responder), receiver)
    }

    #[test]
    fn the_last_piece_answers_with_all_items_in_order() {
        let (join, answers) = join(3);
        let mut outgoing = Outgoing::default();
        join.put(2, answer(Ok(vec![item(4)])), &mut outgoing);
        join.put(0, answer(Ok(vec![item(1), item(2)])), &mut outgoing);
        assert!(answers.try_recv().is_err());
        join.put(1, answer(Ok(vec![item(3)])), &mut outgoing);
        let all = answers.try_recv().unwrap();
        let Ok(Output::Items(items)) = all.outcome else {
            panic!("no items");
        };
        assert_eq!(items, [1, 2, 3, 4].map(item));
        assert_eq!((all.waited.as_micros(), all.served.as_micros()), (2, 3));
        assert_eq!(all.device.as_deref(), Some("cpu"));
    }

    #[test]
    fn the_first_refusal_answers_and_nothing_answers_again() {
        let (join, answers) = join(3);
        let mut outgoing = Outgoing::default();
        let refusal = |code| Refusal::new(code, "as planned");
        join.put(0, answer(Ok(vec![item(1)])), &mut outgoing);
        join.put(1, answer(Err(refusal(Code::Unavailable))), &mut outgoing);
        let refused = answers.try_recv().unwrap().outcome.err().unwrap();
        assert_eq!(refused.code, Code::Unavailable);
        assert!(join.is_over.load(Ordering::Relaxed));
        join.put(2, answer(Err(refusal(Code::Internal))), &mut outgoing);
        join.put(1, answer(Ok(vec![item(2)])), &mut outgoing);
        assert!(answers.try_recv().is_err());
    }
}
