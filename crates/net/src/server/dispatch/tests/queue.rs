use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::super::queue::{Expected, Queue, left_to};
use super::super::task::{ShapeId, Task};
use super::*;

fn task(number: u64, client: ClientId, shape: ShapeId, is_urgent: bool) -> Arc<Task> {
    made(number, client, shape, (is_urgent, false))
}

pub(super) fn task_of(number: u64, client: ClientId, shape: ShapeId, is_long: bool) -> Arc<Task> {
    made(number, client, shape, (false, is_long))
}

fn made(number: u64, client: ClientId, shape: ShapeId, kind: (bool, bool)) -> Arc<Task> {
    let now = Instant::now();
    let deadline = now + Duration::from_secs(60);
    let place = (shape, client, number);
    let respond = Box::new(|_: Answered, _: &mut Outgoing| ());
    Arc::new(Task::new(
        Work::Request(Box::new(request(1))),
        place,
        kind,
        (now, deadline),
        respond,
        None,
    ))
}

/// Returns the numbers of the tasks that a device takes one after the other.
fn order(queue: &mut Queue, skip: usize) -> Vec<u64> {
    let millisecond = |_| Duration::from_millis(1);
    let next = || {
        queue.take(
            |_| false,
            |_| true,
            |_| skip,
            |_, _| 1,
            millisecond,
            |_| false,
        )
    };
    std::iter::repeat_with(next)
        .take_while(|batch| !batch.is_empty())
        .map(|batch| batch[0].number)
        .collect()
}

#[test]
fn clients_are_served_by_their_weights_and_nobody_saves_up() {
    let mut queue = Queue::default();
    let (light, heavy) = (queue.add_client(1), queue.add_client(3));
    for number in 0..40 {
        queue.push(task(number, light, 0, false), false);
        queue.push(task(100 + number, heavy, 0, false), false);
    }
    let millisecond = |_| Duration::from_millis(1);
    let mut served = HashMap::new();
    for _ in 0..40 {
        let batch = queue.take(|_| false, |_| true, |_| 0, |_, _| 1, millisecond, |_| false);
        *served.entry(batch[0].client).or_insert(0) += 1;
    }
    assert_eq!((served[&light], served[&heavy]), (10, 30));

    // A client that arrives later shares from then on, and does not catch up.
    let late = queue.add_client(1);
    for number in 0..40 {
        queue.push(task(200 + number, late, 0, false), false);
    }
    served.clear();
    for _ in 0..20 {
        let batch = queue.take(|_| false, |_| true, |_| 0, |_, _| 1, millisecond, |_| false);
        *served.entry(batch[0].client).or_insert(0) += 1;
    }
    assert!((4..=6).contains(&served[&late]), "{served:?}");
}

#[test]
fn urgent_ones_come_first_and_then_the_oldest_of_any_shape() {
    let mut queue = Queue::default();
    let client = queue.add_client(1);
    for (number, shape, is_urgent) in [
        (1, 0, false),
        (2, 1, false),
        (3, 0, true),
        (4, 0, false),
        (5, 1, true),
    ] {
        queue.push(task(number, client, shape, is_urgent), false);
    }
    queue.push(task(6, client, 0, false), true);
    assert_eq!(queue.len(), 6);
    assert_eq!(order(&mut queue, 0), [3, 5, 2, 6, 1, 4]);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_batch_is_of_one_shape_and_of_all_clients() {
    let mut queue = Queue::default();
    let clients = [queue.add_client(1), queue.add_client(1)];
    for number in 0..6 {
        queue.push(task(number, clients[0], 0, false), false);
        queue.push(
            task(10 + number, clients[1], (number % 2) as usize, false),
            false,
        );
    }
    let batch = queue.take(
        |_| false,
        |_| true,
        |_| 0,
        |_, waiting| waiting.min(8),
        |_| Duration::from_millis(1),
        |_| false,
    );
    let numbers: Vec<_> = batch.iter().map(|task| task.number).collect();
    assert_eq!(numbers, [0, 10, 1, 12, 2, 14, 3, 4]);
    assert_eq!((queue.len_of(0), queue.len_of(1)), (1, 3));
}

#[test]
fn a_client_whose_numbers_failed_has_no_part_in_batches() {
    let mut queue = Queue::default();
    let [good, bad] = [queue.add_client(1), queue.add_client(1)];
    for number in 0..8 {
        queue.push(task(number, good, 0, false), false);
        queue.push(task(10 + number, bad, 0, false), false);
    }
    queue.judge(bad, false);
    let batch = |queue: &mut Queue| -> Vec<u64> {
        let millisecond = |_| Duration::from_millis(1);
        let batch = queue.take(|_| false, |_| true, |_| 0, |_, _| 4, millisecond, |_| true);
        batch.iter().map(|task| task.number).collect()
    };
    assert_eq!(batch(&mut queue), [0, 1, 2, 3]);
    assert_eq!(batch(&mut queue), [10]);
    for _ in 0..8 {
        queue.judge(bad, true);
    }
    assert_eq!(batch(&mut queue), [11, 12, 13, 4]);
}

#[test]
fn who_takes_more_than_its_shape_costs_comes_later() {
    let mut queue = Queue::default();
    let [good, bad] = [queue.add_client(1), queue.add_client(1)];
    for number in 0..6 {
        queue.push(task(number, good, 0, false), false);
        queue.push(task(10 + number, bad, 0, false), false);
    }
    queue.charge_more(bad, Duration::from_micros(3500));
    assert_eq!(
        order(&mut queue, 0),
        [0, 1, 2, 3, 10, 4, 11, 5, 12, 13, 14, 15]
    );
}

#[test]
fn a_slow_device_takes_what_faster_ones_would_not_have_done_by_then() {
    let [board, fast] = [(92, 283.0), (27, 300.0)].map(|(latency, per_second)| Expected {
        latency: Duration::from_millis(latency),
        per_second,
    });
    // Eight at once, and some nineteen more in the 65 ms that the slow one takes longer.
    assert_eq!(left_to(board, fast, 0), 27);
    assert_eq!(left_to(board, fast, 20), 7);
    assert_eq!(left_to(board, fast, 100), 0);
    assert_eq!(left_to(fast, board, 0), 0);

    let mut queue = Queue::default();
    let client = queue.add_client(1);
    for number in 0..5 {
        queue.push(task(number, client, 0, false), false);
    }
    // The front is left to others.
    assert_eq!(order(&mut queue, 3), [3, 4]);
    assert_eq!(order(&mut queue, 3), [0; 0]);
    assert_eq!(order(&mut queue, 0), [0, 1, 2]);
}

#[test]
fn what_is_over_is_taken_out_wherever_it_stands() {
    let mut queue = Queue::default();
    let clients = [queue.add_client(1), queue.add_client(2)];
    for number in 0..20 {
        let client = clients[(number % 2) as usize];
        queue.push(
            task(number, client, (number % 3) as usize, number % 5 == 0),
            false,
        );
    }
    let over = queue.take_all(|task| task.number % 4 == 0);
    assert_eq!(over.len(), 5);
    assert_eq!(queue.len(), 15);
    let mut left = order(&mut queue, 0);
    left.sort_unstable();
    let expected: Vec<_> = (0..20).filter(|number| number % 4 != 0).collect();
    assert_eq!(left, expected);
}
