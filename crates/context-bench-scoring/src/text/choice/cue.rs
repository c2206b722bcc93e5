//! The words around a chosen option, in a dozen languages.
//!
//! Data only: what announces an answer, what may stand between, what negates.

use crate::text::lexicon::{Lexicon, words};

/// Nouns that announce an answer.
pub(super) static KEYS: Lexicon = Lexicon::new(|| {
    words(
        "
         answer answers answer's ans choice option selection alternative guess pick
         antwort antworten lösung auswahl réponse réponses reponse choix respuesta
         respuestas opción opcion alternativa risposta risposte opzione scelta resposta
         respostas opção opcao letra ответ ответы вариант antwoord odpowiedź odpowiedz
         svar svaret vastaus cevap yanıt jawaban jawabannya відповідь απάντηση الإجابة
         الجواب उत्तर án
        ",
    )
});

/// The same in scripts without spaces, character by character.
pub(super) const CJK_KEYS: &[&str] = &[
    "答案",
    "正解",
    "答え",
    "回答",
    "选项",
    "選項",
    "選択肢",
    "정답",
    "답변",
    "답",
];

/// What links an announcement to the answer.
pub(super) static COPULAS: Lexicon = Lexicon::new(|| {
    words(
        "
         is are was be being equals remains becomes ist lautet sind wäre est sont sera
         serait es son sería seria è sono é são это является будет jest to är er on adalah
         ialah هي هو है là είναι 是 为 為 選 选 は が 은 는 이 가
        ",
    )
});

/// Copulas and verbs that deny what follows.
pub(super) static NEGATIONS: Lexicon = Lexicon::new(|| {
    words(
        "
         not isn't aren't wasn't can't cannot couldn't won't wouldn't shouldn't don't
         doesn't didn't never neither nor unlikely nicht kein keine weder pas n'est ni no
         non não nunca не ни niet nie inte ikke değil bukan ليس नहीं không 不 非 没
        ",
    )
});

/// Words that may stand between the copula and the letter.
pub(super) static FILLERS: Lexicon = Lexicon::new(|| {
    words(
        "
         more definitely most likely probably certainly clearly obviously surely thus
         therefore hence then so indeed simply just actually really in fact still also
         undoubtedly perhaps maybe possibly presumably absolutely almost always must would
         should will could might may have has going been given by as follows both only now
         again well the an my our be to of that it it's this option options choice choices
         answer answers letter letters alternative alternatives statement item number
         correct best right final other than none strongly without any doubt a think
         believe guess say i'd we choose die der das den antwort definitiv wahrscheinlich
         daher eindeutig somit sicher richtige buchstabe la le l les lettre réponse donc
         probablement certainement clairement sûrement bonne el lo los las letra opción
         respuesta inciso definitivamente probablemente claramente entonces il i lettera
         risposta opzione sicuramente probabilmente quindi chiaramente o os opção resposta
         provavelmente certamente portanto вариант буква скорее всего ответ пункт точно
         под буквой waarschijnlijk optie 应 该 應 當 当 然 选 選 项 項 择 擇 第 字 母 显 明 的 就 最 可 能 肯 定 番
         肢 択 보 기
        ",
    )
});

/// Verbs that choose, and the particles after them.
pub(super) static VERBS: Lexicon = Lexicon::new(|| {
    words(
        "
         choose choosing chose chosen pick picked picking select selected selecting
         selects go going went opt opting opted settle settled vote mark lean leaning
         wähle nehme choisis choisir elijo escojo elegir scelgo escolho escolher выбираю
         kies wybieram väljer seçiyorum 选 選
        ",
    )
});

/// Verbs that strike options out; `rule out` is two words and found apart.
pub(super) static ELIMINATES: Lexicon = Lexicon::new(|| {
    words(
        "
         eliminate eliminates eliminated eliminating exclude excludes excluded excluding
         discard discards discarding reject rejects rejected rejecting dismiss dismissing
         avoid avoiding eliminiere eliminieren verwerfe verwerfen ausschließen
         ausschliessen élimine éliminer j'élimine exclus exclure j'exclus écarte écarter
         j'écarte descarto descartar elimino eliminar excluyo excluir escludo escludere
         eliminare scarto scartare excluo исключаем исключаю исключить отбрасываем
         отбрасываю uitsluiten odrzucam wykluczam 除 제외
        ",
    )
});

/// What says that somebody holds something to be so.
pub(super) static BELIEFS: Lexicon = Lexicon::new(|| {
    words(
        "
         think believe say suppose feel expect that it it's this glaube denke dass crois
         pense que creo pienso credo penso che acho думаю считаю что
        ",
    )
});

/// Verbs that may begin what is said about an option.
pub(super) static PREDICATES: Lexicon = Lexicon::new(|| {
    words(
        "
         is are was were isn't aren't wasn't seems appears looks sounds remains can cannot
         can't could couldn't would wouldn't will won't must mustn't should shouldn't does
         doesn't do don't did didn't has makes fails fail failed falls kann passt stimmt
         trifft gilt kommt scheidet entfällt fällt scheint ne peut convient semble puede
         queda está parece può sembra pode kan может подходит
        ",
    )
});

/// Verbs that alone reject what they speak of.
pub(super) static FAILS: Lexicon = Lexicon::new(|| words("fails fail failed scheidet entfällt"));

/// What rejects the option right before it in scripts without spaces, and in Korean.
pub(super) const CJK_DENIALS: &[&str] = &[
    "不",
    "错",
    "錯",
    "误",
    "誤",
    "有误",
    "有誤",
    "没有",
    "可以排除",
    "被排除",
    "排除",
    "ではな",
    "ではあり",
    "じゃな",
    "じゃあり",
    "は間違",
    "は誤",
    "は違",
    "が間違",
    "は不",
    "は正しくな",
    "は正解ではな",
    "가 아니",
    "가 아닙",
    "이 아니",
    "이 아닙",
    "는 아니",
    "는 아닙",
    "은 아니",
    "은 아닙",
    "는 틀",
    "은 틀",
    "가 틀",
    "이 틀",
    "는 정답이 아",
    "은 정답이 아",
];

/// Verbs of the list above that need one of these right after them.
pub(super) static PARTICLES: Lexicon = Lexicon::new(|| words("with for on toward towards"));

/// Verbs that mean a choice only with a particle.
pub(super) static NEEDS_PARTICLE: Lexicon =
    Lexicon::new(|| words("go going went opt opting opted settle settled vote lean leaning"));

/// What opens a conclusion.
pub(super) static CONCLUSIONS: Lexicon = Lexicon::new(|| {
    words(
        "
         leaving leaves therefore thus hence so consequently accordingly overall
         conclusion it's it namely corresponds matches think believe say guess also daher
         folglich donc ainsi entonces portanto quindi dunque поэтому значит итак dus więc
         所 因 故 따
        ",
    )
});

/// Words that may come between such an opening and the letter.
pub(super) static CONCLUSION_FILLERS: Lexicon = Lexicon::new(|| {
    words(
        "
         us is it it's must be we have get choose i i'd would say think believe only
         leaves left with here in est ist es è é c'est 以 此 是 选 選 라 서
        ",
    )
});

/// Words that may follow an unmarked `A` or `I` that is a choice.
pub(super) static AFTER_LETTER: Lexicon = Lexicon::new(|| {
    words(
        "
         because since as and or for but which due given however is are was would must
         should seems appears has with by based considering here after if not only weil da
         und oder ist car parce et ou est porque ya y o es perché poiché e è pois é так
         потому и или
        ",
    )
});

/// Adjectives and nouns that confirm a letter before them.
pub(super) static CONFIRMS: Lexicon = Lexicon::new(|| {
    words(
        "
         accurate appropriate correct right best answer richtig richtige korrekt correcte
         bonne correcta correcto corretta corretto giusta giusto correta correto certa
         верный верно правильный правильно juist correctly 正 对 對 정
        ",
    )
});

/// Words that reject a letter before them.
pub(super) static REJECTS: Lexicon = Lexicon::new(|| {
    words(
        "
         incorrect wrong eliminated ruled impossible invalid irrelevant excluded rejected
         discarded dismissed inaccurate untrue mistake mistaken error falsch falsche
         unmöglich ausgeschlossen incorrecte fausse faux exclu exclue éliminée écartée
         impossible incorrecta incorrecto falsa falso descartada descartado excluida
         imposible errata sbagliata sbagliato esclusa escluso incorreta incorreto errada
         errado descartado неверный неверно неверен неправильный неправильно ошибочный
         исключён исключен onjuist fout błędna felaktigt 错 錯 误 誤 排 틀
        ",
    )
});

/// What may follow a confirming adjective.
pub(super) static AFTER_CONFIRM: Lexicon = Lexicon::new(|| {
    words(
        "
         answer option choice one response selection alternative because since as here and
         statement antwort réponse respuesta opción risposta resposta opção ответ вариант
         确 確 解 的 答 답 explanation match fit to for among given by
        ",
    )
});

/// Words before an announcement that make it a mere possibility.
pub(super) static HYPOTHETICAL: Lexicon = Lexicon::new(|| {
    words(
        "
         if whether assuming assume suppose unless imagine wenn ob falls si se если als 如
         若 もし
        ",
    )
});

/// Words that end the way from an announcement to its copula.
pub(super) static BLOCKS: Lexicon = Lexicon::new(|| {
    words(
        "
         choices options what who whether if when how why between among from either
         optionen opciones
        ",
    )
});

/// LaTeX commands that only wrap.
pub(super) static WRAPPERS: Lexicon = Lexicon::new(|| {
    words("boxed fbox text textbf textit mathrm mathbf mathit mathsf bf rm bold textrm")
});

/// Words after which a lone capital letter is part of a name.
pub(super) static NAMES: Lexicon = Lexicon::new(|| {
    words(
        "
         vitamin hepatitis plan type group class grade step part figure table section
         appendix point case premise team school of to factor ratio phase stage person
         schedule exhibit ray mr dr
        ",
    )
});
