//! Circles of arrows between numbered points.

use std::collections::{BTreeSet, VecDeque};

pub type Arrows = BTreeSet<(usize, usize)>;

/// Every largest set of two and more points that all lead to each other, small ones first.
pub fn circles(arrows: &Arrows) -> Vec<Vec<usize>> {
    let points: BTreeSet<usize> = arrows.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let mut placed: BTreeSet<usize> = BTreeSet::new();
    let mut circles = Vec::new();
    for &point in &points {
        if placed.contains(&point) {
            continue;
        }
        let reached = reach(point, arrows);
        let circle: Vec<usize> = reached
            .iter()
            .copied()
            .filter(|other| *other == point || reach(*other, arrows).contains(&point))
            .collect();
        placed.extend(&circle);
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles.sort_by_key(Vec::len);
    circles
}

/// The points of a shortest way round within `circle`. The last leads back to the first.
pub fn shortest(circle: &[usize], arrows: &Arrows) -> Vec<usize> {
    let inside: Arrows = within(circle, arrows).collect();
    circle
        .iter()
        .filter_map(|start| round(*start, &inside))
        .min_by_key(Vec::len)
        .unwrap_or_default()
}

/// The arrows that begin and end in `circle`.
pub fn within<'a>(
    circle: &'a [usize],
    arrows: &'a Arrows,
) -> impl Iterator<Item = (usize, usize)> + 'a {
    arrows
        .iter()
        .copied()
        .filter(|(from, to)| from != to && circle.contains(from) && circle.contains(to))
}

fn reach(start: usize, arrows: &Arrows) -> BTreeSet<usize> {
    let mut reached = BTreeSet::from([start]);
    let mut left = vec![start];
    while let Some(point) = left.pop() {
        for to in next(point, arrows) {
            if reached.insert(to) {
                left.push(to);
            }
        }
    }
    reached
}

fn round(start: usize, arrows: &Arrows) -> Option<Vec<usize>> {
    let mut seen = BTreeSet::new();
    let mut ways = VecDeque::from([vec![start]]);
    while let Some(way) = ways.pop_front() {
        for to in next(*way.last()?, arrows) {
            if to == start {
                return Some(way);
            }
            if seen.insert(to) {
                let mut longer = way.clone();
                longer.push(to);
                ways.push_back(longer);
            }
        }
    }
    None
}

fn next(point: usize, arrows: &Arrows) -> impl Iterator<Item = usize> + '_ {
    arrows
        .range((point, 0)..=(point, usize::MAX))
        .map(|to| to.1)
}
