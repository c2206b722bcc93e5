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
         none nothing unable
        ",
    )
});

/// Labels that are nouns, of which may be said that they do not hold.
pub(super) static NAMES: Lexicon = Lexicon::new(|| {
    words(
        "
         entailment contradiction neutral neutrality refutation support supports refutes
         nei
        ",
    )
});

/// Verbs that begin what is said about a label or a claim.
pub(super) static PREDICATES: Lexicon = Lexicon::new(|| {
    words(
        "
         is isn't are aren't was wasn't can can't cannot could couldn't would wouldn't
         will won't must should shouldn't does doesn't do don't did didn't seems appears
         has holds hold fails applies
        ",
    )
});

/// What is said of that which is not so.
pub(super) static OUT: Lexicon = Lexicon::new(|| {
    words(
        "
         impossible excluded wrong incorrect inaccurate out ruled invalid unlikely
         eliminated rejected fails untenable mistaken
        ",
    )
});

/// What is said of that which is so.
pub(super) static IN_FORCE: Lexicon = Lexicon::new(|| {
    words("hold holds held correct right accurate valid apply applies given case possible")
});

/// Verbs that rule a label out.
pub(super) static EXCLUDING: Lexicon = Lexicon::new(|| {
    words("exclude excludes excluded excluding reject rejects rejected eliminate eliminates")
});

/// What may be true or not.
pub(super) static CLAIMS: Lexicon = Lexicon::new(|| {
    words("claim claims hypothesis statement assertion proposition sentence that this")
});

/// What opens a reason.
pub(super) static REASONS: Lexicon = Lexicon::new(|| words("because since as due given"));

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
