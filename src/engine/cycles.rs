//! Which jobs depend on themselves. A job that is only below a cycle does not.

use crate::model::JobId;
use std::collections::{BTreeMap, BTreeSet};

/// Jobs of `among` that reach themselves through `upstream`: the members of each strongly connected
/// component of more than one job, and jobs that name themselves (Tarjan's algorithm, without recursion:
/// a chain may be a hundred thousand jobs long).
pub(super) fn cyclic<'a>(
    among: &BTreeSet<JobId>,
    upstream: impl Fn(&JobId) -> &'a [JobId],
) -> BTreeSet<JobId> {
    let mut search = Search::default();
    let mut found = BTreeSet::new();
    for root in among {
        if search.order.contains_key(root) {
            continue;
        }
        // Each frame is a job and how many of its upstream jobs were looked at.
        let mut frames: Vec<(&JobId, usize)> = vec![(root, 0)];
        search.enter(root);
        while let Some((job, looked)) = frames.pop() {
            let mut ups = upstream(job).iter().filter_map(|up| among.get(up));
            let Some(up) = ups.nth(looked) else {
                if let Some((below, _)) = frames.last() {
                    search.lower(below, search.low_of(job));
                }
                search.leave(job, upstream(job).contains(job), &mut found);
                continue;
            };
            frames.push((job, looked + 1));
            if !search.order.contains_key(up) {
                search.enter(up);
                frames.push((up, 0));
            } else if search.open.contains(up) {
                let order = search.order.get(up).copied().unwrap_or_default();
                search.lower(job, order);
            }
        }
    }
    found
}

#[derive(Default)]
struct Search {
    order: BTreeMap<JobId, usize>,
    low: BTreeMap<JobId, usize>,
    stack: Vec<JobId>,
    open: BTreeSet<JobId>,
}

impl Search {
    fn enter(&mut self, job: &JobId) {
        let number = self.order.len();
        self.order.insert(job.clone(), number);
        self.low.insert(job.clone(), number);
        self.stack.push(job.clone());
        self.open.insert(job.clone());
    }

    fn low_of(&self, job: &JobId) -> usize {
        self.low.get(job).copied().unwrap_or_default()
    }

    fn lower(&mut self, job: &JobId, to: usize) {
        if let Some(low) = self.low.get_mut(job) {
            *low = (*low).min(to);
        }
    }

    /// Everything above a component's first job on the stack belongs to it.
    fn leave(&mut self, job: &JobId, names_itself: bool, found: &mut BTreeSet<JobId>) {
        if self.order.get(job) != self.low.get(job) {
            return;
        }
        let from = self.stack.iter().rposition(|one| one == job).unwrap_or(0);
        let component = self.stack.split_off(from);
        for one in &component {
            self.open.remove(one);
        }
        if component.len() > 1 || names_itself {
            found.extend(component);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(edges: &[(&str, &[&str])]) -> Vec<String> {
        let map: BTreeMap<JobId, Vec<JobId>> = edges
            .iter()
            .map(|(job, up)| {
                (
                    JobId::from(*job),
                    up.iter().map(|one| JobId::from(*one)).collect(),
                )
            })
            .collect();
        let among = map.keys().cloned().collect();
        let ups = |id: &JobId| map.get(id).map_or(&[][..], Vec::as_slice);
        cyclic(&among, ups).into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn only_jobs_that_reach_themselves_are_in_a_cycle() {
        // a and b depend on each other; c is below them; d and e again; f is alone between nothing.
        let edges: &[(&str, &[&str])] = &[
            ("a", &["b"]),
            ("b", &["a"]),
            ("c", &["b"]),
            ("d", &["c", "e"]),
            ("e", &["d"]),
            ("f", &["elsewhere"]),
            ("g", &["g"]),
        ];
        assert_eq!(found(edges), ["a", "b", "d", "e", "g"]);
        assert!(found(&[("a", &[]), ("b", &["a"]), ("c", &["a", "b"])]).is_empty());
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let names: Vec<String> = (0..50_000).map(|n| format!("{n:06}")).collect();
        let map: BTreeMap<JobId, Vec<JobId>> = names
            .iter()
            .enumerate()
            .map(|(n, name)| {
                let up = names.get(n + 1).or(names.first());
                (
                    JobId(name.clone()),
                    up.cloned().map(JobId).into_iter().collect(),
                )
            })
            .collect();
        let among = map.keys().cloned().collect();
        let all = cyclic(&among, |id| map.get(id).map_or(&[][..], Vec::as_slice));
        assert_eq!(all.len(), 50_000);
    }
}
