"""Scores of the benchmarks' own scripts for stored outputs of models.

Writes `tests/golden/official_scores.jsonl`: per file of `data/responses` one number per
record, in its order, `null` where the script has none. Run once by hand, never by the tests:

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install rouge-score==0.1.2 nltk==3.10.4 rouge==1.0.1 jieba==0.42.1 fuzzywuzzy==0.18.0
    PYTHONPATH=/tmp/official /tmp/venv/bin/python -P crates/context-bench/tests/oracle/official.py SHARED

`/tmp/official` holds the functions of the authors, which are theirs and not part of this
repository: `longbench_metrics.py` (THUDM/LongBench, `metrics.py`), `infinitebench_scores.py`
(OpenBMB/InfiniteBench, the functions `get_score_one_TASK` of `src/compute_scores.py`, named by
task) and `locomo_evaluation.py` (snap-research/locomo, `task_eval/evaluation.py`). BBH,
L-Eval's overlap and TruthfulQA are a few lines over published rules and rouge-score. Of the
shared files only numbers are written, never a text.
"""

import json
import pathlib
import sys

import infinitebench_scores
import locomo_evaluation
import longbench_metrics as longbench
from rouge_score import rouge_scorer

OUT = pathlib.Path(__file__).resolve().parent.parent / "golden" / "official_scores.jsonl"
ROUGE = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=False)

LONGBENCH = {
    **dict.fromkeys(["narrativeqa", "qasper", "multifieldqa_en", "hotpotqa", "2wikimqa", "musique", "triviaqa"], longbench.qa_f1_score),
    "multifieldqa_zh": longbench.qa_f1_zh_score,
    **dict.fromkeys(["dureader", "vcsum"], longbench.rouge_zh_score),
    **dict.fromkeys(["gov_report", "multi_news", "qmsum", "samsum"], longbench.rouge_score),
    **dict.fromkeys(["trec", "lsht"], longbench.classification_score),
    "passage_count": longbench.count_score,
    "passage_retrieval_en": longbench.retrieval_score,
    "passage_retrieval_zh": longbench.retrieval_zh_score,
    **dict.fromkeys(["lcc", "repobench-p"], longbench.code_sim_score),
}


def bbh(row):
    said = row["prediction"].split("answer is ")[-1].strip()
    said = said[:-1].strip() if said.endswith(".") else said
    return float(said == row["target"])


def of_longbench(row):
    pred = row["pred"]
    if row["dataset"] in ("trec", "triviaqa", "samsum", "lsht"):
        pred = pred.lstrip("\n").split("\n")[0]
    score = LONGBENCH[row["dataset"]]
    return max(score(pred, gold, all_classes=row["all_classes"]) for gold in row["answers"])


def of_infinitebench(row):
    score = getattr(infinitebench_scores, row["task"], None)
    return score and float(score(row["prediction"], row["ground_truth"], row["model"]))


def of_leval(row):
    if row["evaluation"] == "f1":
        return longbench.qa_f1_score(row["pred"], row["gt"])
    if row["evaluation"] == "rouge":
        return ROUGE.score(row["gt"], row["pred"])["rougeL"].fmeasure
    return None


def of_locomo(output, gold, category):
    if category == 3:
        gold = gold.split(";")[0].strip()
    if category == 5:
        return float(any(text in output.lower() for text in ("no information available", "not mentioned")))
    return float((locomo_evaluation.f1 if category == 1 else locomo_evaluation.f1_score)(output, gold))


def of_truthfulqa(row):
    def ended(text):
        text = text.strip()
        return text if not text or text.endswith(".") else text + "."

    def best(answers):
        return max(ROUGE.score(ended(answer), output)["rouge1"].fmeasure for answer in answers)

    output = row["model_answer"].removeprefix("A:").strip()
    right = row["correct_answers"].split(";") + ["I have no comment."]
    return float(best(right) > best(row["incorrect_answers"].split(";")))


FILES = {
    "bbh.code_davinci_002": ("the published rule", bbh),
    "longbench.predictions": ("LongBench's metrics.py", of_longbench),
    "infinitebench.preds": ("InfiniteBench's compute_scores.py", of_infinitebench),
    "leval.predictions": ("SQuAD's F1, rouge-score 0.1.2", of_leval),
    "locomo.judged": (
        "LoCoMo's evaluation.py",
        lambda row: of_locomo(row["generated_answer"], str(row["golden_answer"]), int(row["category"])),
    ),
    "truthfulqa.human_annotated": ("rouge-score 0.1.2 over the rule as published", of_truthfulqa),
}


def main():
    shared = pathlib.Path(sys.argv[1])
    with OUT.open("w") as out:
        for name, (by, score) in FILES.items():
            lines = (shared / "data" / "responses" / f"{name}.jsonl").read_text().splitlines()
            scores = [score(json.loads(line)) for line in lines]
            scores = [score if score is None else round(float(score), 10) for score in scores]
            scores = [int(score) if score in (0, 1) else score for score in scores]
            print(json.dumps({"file": name, "by": by, "scores": scores}, separators=(", ", ": ")), file=out)


if __name__ == "__main__":
    main()
