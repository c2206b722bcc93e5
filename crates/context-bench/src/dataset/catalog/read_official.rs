//! What a dataset's file says about its authors: how they ask, sum up and score.

use context_bench_error::suggest;
use context_bench_template::yaml::{self, Node, Yaml};
use serde_json::Value;

use super::fields::Layout;
use super::prompt::{PromptTemplates, Shots};
use super::reader::{Read, Reader};
use super::rule::{Basis, Rule, Standing};
use super::spec::{Spec, Variant};
use super::summary::Figure;
use super::template::Template;

const OF_PROMPT: &[&str] = &[
    "system",
    "user",
    "max_tokens",
    "stop",
    "temperature",
    "with",
];
const OF_SHOTS: &[&str] = &["split", "config", "count", "by", "fields"];
const OF_FIGURE: &[&str] = &[
    "geometric_mean",
    "length_controlled",
    "length",
    "difficulty",
    "mean",
    "mean_of_all",
    "mean_of_means",
    "micro_f1",
    "only",
    "weight",
    "by",
];
const OF_RULE: &[&str] = &[
    "name", "source", "basis", "verified", "ours", "why", "official",
];

/// Fields of the questions of a conversation that figures can go by.
const OF_QUESTIONS: [&str; 3] = ["type", "abstention", "conversation_id"];

impl Reader<'_> {
    /// Reads what the authors of a benchmark do into a variant.
    pub(super) fn official(&self, node: &Node, variant: &mut Variant) -> Read<()> {
        if let Some(node) = node.get("prompt") {
            variant.prompt = Some(self.prompt(node)?);
        }
        if let Some(node) = node.get("shots") {
            variant.shots = Some(self.shots(node)?);
        }
        if let Some(node) = node.get("summary") {
            for (name, node) in self.entries(node, "summary")? {
                variant.summary.insert(name, self.figure(node)?);
            }
        }
        variant.headline = self.text(node, "headline")?;
        if let Some(node) = node.get("rule") {
            variant.rule = Some(self.rule(node)?);
        }
        Ok(())
    }

    /// Figures can go by fields of examples only, and a headline is one number.
    pub(super) fn check_figures(&self, root: &Node, spec: &Spec) -> Read<()> {
        let mut merged = vec![(root, spec.base.clone())];
        for (name, own) in &spec.configs {
            let mut variant = spec.base.clone();
            variant.lay(own);
            let node = root.get("configs").and_then(|configs| configs.get(name));
            merged.push((node.map_or(root, |node| node), variant));
        }
        if !spec.configs.is_empty() {
            merged.remove(0);
        }
        for (node, variant) in merged {
            let layout = Layout::of(&variant);
            let mut known: Vec<&str> = layout.names().collect();
            // Of a conversation each question becomes an example with fields of its own.
            if known.contains(&"qa_pairs") {
                known.extend(OF_QUESTIONS);
            }
            for (name, figure) in &variant.summary {
                let mut fields = figure.fields().into_iter().chain(figure.weight());
                if let Some(field) = fields.find(|field| !known.contains(field)) {
                    let what = format!("figure `{name}` goes by `{field}`, which is not a field");
                    let near = suggest::did_you_mean(field, known.iter().copied());
                    let all = || format!("fields: {}", known.join(", "));
                    return Err(self.wrong(node, what).hinted(near.unwrap_or_else(all)));
                }
            }
            let headline = variant.headline.as_ref();
            let figure = headline.and_then(|name| variant.summary.get(name));
            if let (Some(name), Some(Figure::MeanBy { .. })) = (headline, figure) {
                let what = format!("headline `{name}` is a figure for each value of a field");
                return Err(self
                    .wrong(node, what)
                    .hinted("a headline is one number; `mean_of_means` is the mean of them"));
            }
        }
        Ok(())
    }

    fn prompt(&self, node: &Node) -> Read<PromptTemplates> {
        self.check_keys(node, "`prompt`", OF_PROMPT)?;
        let template = |key: &str| {
            let node = node.get(key);
            node.map(|node| self.text_template(node, key)).transpose()
        };
        let mut prompt = PromptTemplates {
            system: template("system")?,
            user: template("user")?,
            max_tokens: self.count(node, "max_tokens")?,
            temperature: template("temperature")?,
            ..PromptTemplates::default()
        };
        if let Some(node) = node.get("stop") {
            prompt.stop = Some(self.texts(node, "stop")?);
        }
        if let Some(node) = node.get("with") {
            for (name, node) in self.entries(node, "with")? {
                let text = self.text_of(node, &name)?;
                prompt.with.insert(name, text);
            }
        }
        Ok(prompt)
    }

    /// A template of a prompt. As everywhere in these files, bare text is an expression; here
    /// it is often meant as text.
    fn text_template(&self, node: &Node, key: &str) -> Read<Template> {
        let is_bare = matches!(&node.value, Yaml::Text(text) if !text.contains('{'));
        self.template(node, key).map_err(|error| match is_bare {
            true => error.hinted(format!(
                "without `{{{{ }}}}` it is an expression; write a text as `{key}: \"'Be brief.'\"`"
            )),
            false => error,
        })
    }

    fn shots(&self, node: &Node) -> Read<Shots> {
        self.check_keys(node, "`shots`", OF_SHOTS)?;
        let needed = |key: &str| self.wrong(node, format!("`shots` needs `{key}`"));
        let count = self.count(node, "count")?.ok_or_else(|| needed("count"))?;
        let mut shots = Shots {
            split: self.text(node, "split")?.ok_or_else(|| needed("split"))?,
            config: self.text(node, "config")?,
            count: usize::try_from(count).unwrap_or(usize::MAX),
            by: self.text(node, "by")?,
            fields: Default::default(),
        };
        if let Some(node) = node.get("fields") {
            for (name, node) in self.entries(node, "fields")? {
                let template = self.template(node, &name)?;
                shots.fields.insert(name, template);
            }
        }
        Ok(shots)
    }

    fn figure(&self, node: &Node) -> Read<Figure> {
        self.check_keys(node, "a figure", OF_FIGURE)?;
        let by = self.text(node, "by")?;
        if let Some(scores) = node.get("geometric_mean") {
            return Ok(Figure::GeometricMean(self.texts(scores, "geometric_mean")?));
        }
        if let Some(scores) = node.get("mean_of_all") {
            return Ok(Figure::MeanOfAll(self.texts(scores, "mean_of_all")?));
        }
        if let Some(score) = self.text(node, "length_controlled")? {
            let needed = |key: &str| {
                let name = self.text(node, key)?;
                name.ok_or_else(|| self.wrong(node, format!("`length_controlled` needs `{key}`")))
            };
            return Ok(Figure::LengthControlled {
                score,
                length: needed("length")?,
                difficulty: needed("difficulty")?,
            });
        }
        if let Some(scores) = node.get("micro_f1") {
            let Ok([correct, predicted, expected]) =
                <[String; 3]>::try_from(self.texts(scores, "micro_f1")?)
            else {
                return Err(self
                    .wrong(scores, "`micro_f1` needs three scores")
                    .hinted("write `micro_f1: [CORRECT, PREDICTED, EXPECTED]`"));
            };
            return Ok(Figure::MicroF1 {
                correct,
                predicted,
                expected,
            });
        }
        if let Some(score) = self.text(node, "mean_of_means")? {
            let by = by.ok_or_else(|| self.wrong(node, "`mean_of_means` needs `by`"))?;
            return Ok(Figure::MeanOfMeans { score, by });
        }
        let Some(score) = self.text(node, "mean")? else {
            return Err(self.wrong(node, "a figure needs a mean").hinted(
                "write `mean: SCORE`, `mean_of_means: SCORE`, `geometric_mean: [SCORE, …]` or \
                 `micro_f1: [CORRECT, PREDICTED, EXPECTED]`",
            ));
        };
        if let Some(by) = by {
            return Ok(Figure::MeanBy { score, by });
        }
        let mut only = Vec::new();
        if let Some(node) = node.get("only") {
            for (field, node) in self.entries(node, "only")? {
                only.push((field, self.value(node)?));
            }
        }
        Ok(Figure::Mean {
            score,
            only,
            weight: self.text(node, "weight")?,
        })
    }

    fn rule(&self, node: &Node) -> Read<Rule> {
        self.check_keys(node, "`rule`", OF_RULE)?;
        let needed = |key: &str| {
            let text = self.text(node, key)?;
            text.ok_or_else(|| self.wrong(node, format!("`rule` needs `{key}`")))
        };
        Ok(Rule {
            name: needed("name")?,
            source: needed("source")?,
            basis: self.named(node, "basis", &Basis::NAMED)?,
            verified: self.text(node, "verified")?,
            ours: self.named(node, "ours", &Standing::NAMED)?,
            why: self.text(node, "why")?,
            official: self.text(node, "official")?,
        })
    }

    fn value(&self, node: &Node) -> Read<Value> {
        let file = self.file.display().to_string();
        yaml::to_json(node, &file).map_err(|error| self.wrong(node, error.message().to_owned()))
    }

    /// One of some words.
    fn named<T: Copy>(&self, node: &Node, key: &str, known: &[(&str, T)]) -> Read<T> {
        let Some(at) = node.get(key) else {
            return Err(self.wrong(node, format!("`rule` needs `{key}`")));
        };
        let word = self.text_of(at, key)?;
        let found = known.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            self.wrong(at, format!("`{key}` cannot be `{word}`"))
                .hinted(format!("one of {}", suggest::quoted_list(&names, "or")))
        })
    }
}
