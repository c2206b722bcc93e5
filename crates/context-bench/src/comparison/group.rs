//! [`GroupShape`]: how the score of a group is made of its tasks, and the difference of two groups.
//!
//! The score of a group is a weighted mean of the means of its tasks. Its tasks are fixed, only
//! their examples are a sample, so examples are drawn within tasks: what counts is how they differ
//! from the mean of their own task.

use std::collections::HashMap;

use super::Difference;
use super::estimate::Question;

/// A group and what its score is a mean of.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct GroupShape {
    /// Its name.
    pub name: String,
    /// The score that is averaged, as rows have it; `None` for whatever verdicts are about.
    pub score: Option<String>,
    /// Whether tasks count by their number of examples, and not all the same.
    pub by_size: bool,
    /// Its members.
    pub members: Vec<GroupMember>,
}

/// A member of a group.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GroupMember {
    /// The tag of a task's rows.
    Tag(String),
    /// A group that counts with the score it has itself.
    Group(GroupShape),
}

impl GroupShape {
    /// A group of members.
    pub fn new(
        name: impl Into<String>,
        score: Option<String>,
        by_size: bool,
        members: Vec<GroupMember>,
    ) -> Self {
        Self {
            name: name.into(),
            score,
            by_size,
            members,
        }
    }

    /// The weights of tags in the score, which add up to 1; tags without examples have none.
    fn weights(&self, sizes: &HashMap<&str, usize>) -> Vec<(&str, f64)> {
        let size = |member: &GroupMember| member.size(sizes) as f64;
        let present: Vec<&GroupMember> =
            self.members.iter().filter(|one| size(one) > 0.0).collect();
        let total: f64 = present.iter().map(|one| size(one)).sum();
        let mut weights: Vec<(&str, f64)> = Vec::new();
        for member in &present {
            let share = match self.by_size {
                true => size(member) / total,
                false => 1.0 / present.len() as f64,
            };
            match member {
                GroupMember::Tag(tag) => weights.push((tag, share)),
                GroupMember::Group(group) => {
                    let inner = group.weights(sizes).into_iter();
                    weights.extend(inner.map(|(tag, weight)| (tag, weight * share)));
                }
            }
        }
        weights
    }
}

impl GroupMember {
    fn size(&self, sizes: &HashMap<&str, usize>) -> usize {
        match self {
            Self::Tag(tag) => sizes.get(tag.as_str()).copied().unwrap_or(0),
            Self::Group(group) => group.members.iter().map(|one| one.size(sizes)).sum(),
        }
    }
}

/// The values of one task that both systems have.
#[derive(Default)]
pub(super) struct TaskValues {
    pub(super) pairs: Vec<(f64, f64)>,
    /// Empty when each pair is a cluster of its own.
    pub(super) clusters: Vec<u32>,
}

/// The difference of the scores of a group; `None` without examples.
pub(super) fn difference(
    group: &GroupShape,
    tasks: &HashMap<&str, TaskValues>,
    question: &Question<'_>,
) -> Option<Difference> {
    let sizes = tasks.iter().map(|(tag, task)| (*tag, task.pairs.len()));
    let weights = group.weights(&sizes.collect());
    let in_group = |tag: &str| tasks.get(tag).map(|task| task.pairs.len());
    let total: usize = weights.iter().filter_map(|(tag, _)| in_group(tag)).sum();
    let (mut baseline_mean, mut system_mean) = (0.0, 0.0);
    let (mut about_mean, mut plain) = (Vec::new(), Vec::new());
    let mut clusters = Vec::new();
    for (tag, weight) in &weights {
        let task = tasks.get(tag)?;
        let n = task.pairs.len() as f64;
        let mean = |pick: fn(&(f64, f64)) -> f64| task.pairs.iter().map(pick).sum::<f64>() / n;
        let (old, new) = (mean(|pair| pair.0), mean(|pair| pair.1));
        baseline_mean += weight * old;
        system_mean += weight * new;
        // How much an example counts beside one of a group whose examples all count the same.
        let scale = weight * total as f64 / n;
        for (a, b) in &task.pairs {
            about_mean.push(scale * ((b - a) - (new - old)));
            plain.push(scale * (b - a));
        }
        clusters.extend(&task.clusters);
    }
    let centre = system_mean - baseline_mean;
    about_mean.iter_mut().for_each(|value| *value += centre);
    // Weighted values are no shares of anything.
    let weighted = Question {
        is_share: false,
        ..*question
    };
    let gains = weighted.gains(about_mean, &clusters)?;
    let mut found = weighted.of_gains(&gains, None)?;
    // Nothing is flipped about a mean: the test is of differences as they are.
    let plain = weighted.gains(plain, &clusters)?;
    found.p_value = plain.sign_flip(&question.resampling).p_value;
    (found.baseline_mean, found.system_mean) = (baseline_mean, system_mean);
    found.is_share = question.is_share;
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_shape() {
        let tag = |name: &str| GroupMember::Tag(name.to_owned());
        let sizes = HashMap::from([("a", 10), ("b", 30), ("c", 20)]);
        let inner = GroupShape::new("inner", None, true, vec![tag("a"), tag("b")]);
        let members = vec![GroupMember::Group(inner), tag("c"), tag("not run")];
        for (by_size, expected) in [
            (false, [("a", 0.125), ("b", 0.375), ("c", 0.5)]),
            (true, [("a", 1.0 / 6.0), ("b", 0.5), ("c", 1.0 / 3.0)]),
        ] {
            let group = GroupShape::new("g", None, by_size, members.clone());
            for (found, expected) in group.weights(&sizes).into_iter().zip(expected) {
                assert_eq!(found.0, expected.0);
                assert!((found.1 - expected.1).abs() < 1e-12, "{found:?}");
            }
        }
    }
}
