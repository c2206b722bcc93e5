//! The words of relations between a claim and a text.
//!
//! Data only: labels with their inflections, what negates, what concludes.

use crate::text::lexicon::{Lexicon, words};

pub(super) static CONFIRMING: Lexicon = Lexicon::new(|| {
    words(
        "
         entailment entail entails entailed entailing implies implied imply support
         supports supported supporting confirms confirmed yes true
        ",
    )
});

pub(super) static DENYING: Lexicon = Lexicon::new(|| {
    words(
        "
         contradiction contradictory contradict contradicts contradicted contradicting
         refute refutes refuted refuting refutation disproves disproved conflicts false
         untrue
        ",
    )
});

pub(super) static LEAVING_OPEN: Lexicon = Lexicon::new(|| {
    words(
        "
         neutral unknown nei undetermined indeterminate inconclusive unclear unverifiable
         unrelated maybe silent unmentioned unsupported unanswerable
        ",
    )
});

/// Verbs whose negation says that the text leaves the claim open.
pub(super) static TELLING: Lexicon = Lexicon::new(|| {
    words(
        "
         mention mentions mentioned stated states state addressed address addresses
         specified specify specifies discussed discuss discusses covered cover say says
         enough sufficient determined determine inferred concluded verified verify known
         know clear tell established related provided
        ",
    )
});

/// Nouns of which there is none: `no evidence`, `insufficient information`.
pub(super) static GROUNDS: Lexicon = Lexicon::new(|| {
    words(
        "
         evidence information info mention indication data statement details basis
         reference way proof
        ",
    )
});

pub(super) static NEGATIONS: Lexicon = Lexicon::new(|| {
    words(
        "
         not no never cannot nor neither without non insufficient lacks fails than hardly
         none
        ",
    )
});

pub(super) static LABEL_WORDS: Lexicon = Lexicon::new(|| {
    words(
        "
         answer label verdict classification judgment judgement conclusion relation
         relationship prediction decision
        ",
    )
});

pub(super) static CONCLUDING: Lexicon = Lexicon::new(|| {
    words(
        "
         therefore thus hence so overall conclusion consequently finally ultimately
         accordingly
        ",
    )
});

pub(super) static CONTRASTS: Lexicon =
    Lexicon::new(|| words("but however so therefore overall hence thus instead actually"));
