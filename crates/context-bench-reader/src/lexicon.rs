//! Word lists of the reader: closed classes and common nouns of English.
//!
//! Only general vocabulary belongs here. A word that helps with one question of
//! one dataset does not. Nouns are listed in the singular where the look-up
//! says so.

use std::collections::HashSet;
use std::sync::LazyLock;

/// A list of words, ready for looking up.
type Words = LazyLock<HashSet<&'static str>>;

/// A word without the `s` of a plural.
fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

/// Words besides the stop words that end a noun phrase.
pub(super) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORD.contains(word)
}

static FUNCTION_WORD: Words = LazyLock::new(|| {
    "\
        above across again against ago almost along already although always am among another around \
        away became become becomes behind below beneath beside besides between beyond both called \
        cannot despite down during either else even ever every except here however inside instead \
        just later like named near neither never no nor not now off often once only onto other \
        others out outside over per quite rather since soon still then therefore though through \
        throughout thus together toward towards under unless until up upon via where whether within \
        without yet"
        .split(' ')
        .collect()
});

/// Forms of be, have and do, and modal verbs.
pub(super) fn is_auxiliary(word: &str) -> bool {
    AUXILIARY.contains(word)
}

static AUXILIARY: Words = LazyLock::new(|| {
    "\
        am are aren't be been being can can't could couldn't did didn't do does doesn't don't had \
        hadn't has hasn't have haven't is isn't may might must shall should shouldn't was wasn't \
        were weren't will won't would wouldn't"
        .split(' ')
        .collect()
});

/// Words that turn a statement round.
pub(super) fn is_negation(word: &str) -> bool {
    NEGATION.contains(word) || word.ends_with("n't") || word.ends_with("n’t")
}

static NEGATION: Words = LazyLock::new(|| {
    "\
        cannot failed forbidden hardly neither never no nobody none nor not nothing nowhere refused \
        unable without"
        .split(' ')
        .collect()
});

pub(super) fn is_month(word: &str) -> bool {
    MONTH.contains(word)
}

static MONTH: Words = LazyLock::new(|| {
    "\
        apr april aug august dec december feb february jan january jul july jun june mar march may \
        nov november oct october sep sept september"
        .split(' ')
        .collect()
});

pub(super) fn is_season(word: &str) -> bool {
    SEASON.contains(word)
}

static SEASON: Words = LazyLock::new(|| {
    "\
        autumn fall spring summer winter"
        .split(' ')
        .collect()
});

pub(super) fn is_weekday(word: &str) -> bool {
    WEEKDAY.contains(word)
}

static WEEKDAY: Words = LazyLock::new(|| {
    "\
        friday fridays monday mondays saturday saturdays sunday sundays thursday thursdays tuesday \
        tuesdays wednesday wednesdays"
        .split(' ')
        .collect()
});

/// Units of time, singular and plural.
pub(super) fn is_time_unit(word: &str) -> bool {
    TIME_UNIT.contains(singular(word))
}

static TIME_UNIT: Words = LazyLock::new(|| {
    "\
        centurie century day decade fortnight hour millennium minute month night season second week \
        year"
        .split(' ')
        .collect()
});

/// Units of length, weight, volume and the like.
pub(super) fn is_measure_unit(word: &str) -> bool {
    MEASURE_UNIT.contains(singular(word))
}

static MEASURE_UNIT: Words = LazyLock::new(|| {
    "\
        acre byte centimeter centimetre cm degree feet foot ft gallon gigabyte gram hectare inch \
        inche kg kilo kilobyte kilogram kilometer kilometre kilowatt km knot liter litre m megabyte \
        megawatt meter metre mile millimeter millimetre mm mph ounce pound terabyte ton tonne volt \
        watt yard"
        .split(' ')
        .collect()
});

/// Currencies of today and of history books.
pub(super) fn is_currency(word: &str) -> bool {
    CURRENCY.contains(singular(word))
}

static CURRENCY: Words = LazyLock::new(|| {
    "\
        baht bitcoin cent chf crown denarii dinar dirham dollar doubloon drachma ducat escudo \
        eur euro farthing florin forint franc gbp guilder guinea koruna krona krone kroner kronor \
        lei leu lev lira lire mark pence penny peseta peso pound rand reai real riyal rouble ruble \
        rupee shekel shilling talent thaler usd won yen yuan zloty"
        .split(' ')
        .collect()
});

/// Nouns for people, as in "which engineer" or "the baker Ann Bell".
pub(super) fn is_person_noun(word: &str) -> bool {
    let word = singular(word);
    PERSON_NOUN.contains(word)
        || word.ends_with("ist") && word.len() > 5
        || word.ends_with("ician")
        || word.ends_with("woman")
        || word.ends_with("sman")
}

static PERSON_NOUN: Words = LazyLock::new(|| {
    "\
        actor actress apprentice architect astronaut auditor aunt author baker bishop boss boy \
        brother builder captain captains carpenter chair chairman champion chef chief child clerk \
        coach colleague colonel commander composer conductor conservator cook councillor critic \
        curator daughter detective developer director diver doctor donor driver duchess duke editor \
        emperor engineer examiner expert explorer farmer father fisher founder friend gardener \
        general girl governor granddaughter grandfather grandmother grandson guest guide head \
        husband inspector inventor investigator judge keeper king lady lawyer leader librarian lord \
        man manager mason mayor member men miller minister monk mother nun nurse officer operator \
        opponent owner painter partner patient people person photographer pilot player poet pope \
        predecessor president priest prince princess producer professor programmer publisher pupil \
        queen researcher rival sailor saint secretary senator sergeant singer sister soldier son \
        specialist spokesman spokeswoman sponsor student successor surgeon teacher technician thief \
        treasurer uncle victim visitor volunteer waiter wife winner witness woman women worker \
        writer"
        .split(' ')
        .collect()
});

/// Titles in front of a name.
pub(super) fn is_title(word: &str) -> bool {
    TITLE.contains(word)
}

static TITLE: Words = LazyLock::new(|| {
    "\
        bishop brother captain colonel councillor dr father general judge king lady lieutenant lord \
        major mayor miss mr mrs ms pope president prince princess prof professor queen saint senator \
        sergeant sir sister st"
        .split(' ')
        .collect()
});

/// Words that make a name one of a place, a building or a body, not of a person.
pub(super) fn is_place_or_body(word: &str) -> bool {
    is_settlement(word) || PLACE_OR_BODY.contains(word)
}

static PLACE_OR_BODY: Words = LazyLock::new(|| {
    "\
        abbey academy agency airline airport association avenue award band bank bay board bridge \
        brothers builders cape castle cathedral center centre championship church club coast college \
        commission committee company corp corporation council cup department desert factory farm \
        festival forest foundation gallery garden gardens gmbh group hall harbor harbour hill hills \
        hospital hotel house inc inn institute laboratory lake lane league library lighthouse ltd \
        market mill ministry mount mountain museum observatory ocean palace park party point port \
        prison prize railway river road school sea society square station street symphony team \
        temple theater theatre tower trust union university valley war works"
        .split(' ')
        .collect()
});

/// Nouns for places that have names of their own: "the town of Ely" is Ely.
pub(super) fn is_settlement(word: &str) -> bool {
    SETTLEMENT.contains(word)
}

static SETTLEMENT: Words = LazyLock::new(|| {
    "\
        borough canton capital city country county district duchy hamlet island isle kingdom parish \
        port province region state suburb town village"
        .split(' ')
        .collect()
});

/// Words that a place stands behind.
pub(super) fn is_place_preposition(word: &str) -> bool {
    PLACE_PREPOSITION.contains(word)
}

static PLACE_PREPOSITION: Words = LazyLock::new(|| {
    "\
        above across along around at behind below beneath beside between beyond by from in inside \
        into near off on onto opposite outside over through to toward towards under within"
        .split(' ')
        .collect()
});
