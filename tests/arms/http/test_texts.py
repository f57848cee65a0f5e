"""What becomes of the text of an answer: a category, a token with its log-probability, or a vector of the user's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kabc
from kabc.arms.http import http_arms
from kabc.arms.values import category_code
from kabc.core.errors import ArmError, SettingsError
from tests.arms.http.server import Server, draw, failure, one

CHAT: dict[str, Any] = {"body": {"messages": [{"content": "{prompt}"}]}, "value": "choices.0.message.content"}
LOGPROB: dict[str, Any] = {
    "value": "choices.0.logprobs.content.0.token",
    "logprob": "choices.0.logprobs.content.0.logprob",
}


def length(text: str) -> list[float]:
    return [len(text), text.count("e")]


def test_a_category_is_a_word_a_number_or_a_truth_value(server: Server) -> None:
    words = one(server.url("chat"), 2, prompts=["yes"], kind="category", **CHAT)
    assert words.tolist() == [[category_code("yes")]] * 2
    assert one(server.url("chat"), prompts=["four"], kind="category", **CHAT | {"value": "n"}).tolist() == [
        [category_code("4")]
    ]
    assert one(server.url("number"), kind="category").tolist() == [[category_code("4.5")]]  # the whole answer
    assert "expected a text or a number, got 'None'" in failure(
        server.url("nonsense"), kind="category", value="answer.x"
    )


def test_categories_are_known_by_name_in_the_answer(server: Server) -> None:
    arms = http_arms(
        {"a": server.url("chat"), "b": server.url("number")}, prompts=["yes"], kind="category", body=CHAT["body"]
    )
    result = kabc.cluster(arms, 2, seed=0, progress=False, max_samples=60)
    assert result.columns == ("answer",)
    assert "4.5" in result.levels["answer"].values()
    assert "answers: answer: category" in result.notes


def test_one_token_and_its_log_probability_are_one_sample(server: Server) -> None:
    rows = one(server.url("token"), 3, kind="category", **LOGPROB)
    assert rows.tolist() == [[category_code("Paris"), -0.25]] * 3
    arms = http_arms({"x": server.url("token")}, kind="category", on_failure="encode", **LOGPROB)
    assert arms.columns == ("answer", "logprob", "failed")
    assert draw(arms, 1).tolist() == [[category_code("Paris"), -0.25, 0.0]]
    assert "there is no 'lp'" in failure(server.url("token"), kind="category", **LOGPROB | {"logprob": "lp"})


def test_texts_become_the_vectors_of_embed(server: Server) -> None:
    rows = one(server.url("chat"), 2, prompts=["the sea"], kind="text", embed=length, **CHAT)
    assert rows.tolist() == [[7, 2]] * 2
    arms = http_arms({"x": server.url("chat")}, kind="text", embed=length, on_failure="encode")
    assert arms.columns == ("answer[0]", "answer[1]", "failed")
    assert "answers: answer: text, 2 numbers of embed=length" in arms.notes


def fails(text: str) -> list[float]:
    if text != "a":
        raise ZeroDivisionError("no model")
    return [0.0]


@pytest.mark.parametrize(
    ("embed", "said"),
    [
        (lambda text: [0.0] * len(text), "embed= gave 7 numbers where it gave 1 before"),
        (lambda text: [0.0 if text == "a" else np.nan], "embed= gave [nan]; it must give a list of finite numbers"),
        (fails, "embed= failed: ZeroDivisionError: no model"),
    ],
)
@pytest.mark.parametrize("on_failure", ["raise", "encode"])
def test_an_error_of_embed_names_arm_and_text_whatever_the_policy(
    server: Server, embed: Any, said: str, on_failure: Any
) -> None:
    arms = http_arms(
        {"x": server.url("chat")}, prompts=["the sea"], kind="text", embed=embed, on_failure=on_failure, **CHAT
    )
    with pytest.raises(ArmError) as caught:
        draw(arms)
    assert caught.value.arm == "x"
    assert said in str(caught.value)
    assert "the text was 'the sea'" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kind": "text", "embed": 3}, "embed must be a function text -> vector, got 3"),
        ({"kind": "text", "embed": lambda text: "x"}, "embed= was tried with 'a' and failed: ValueError"),
        ({"kind": "text", "embed": lambda text: [[1.0]]}, "embed= was tried with 'a' and gave [[1.0]]"),
        ({"kind": "number", "embed": length}, "embed= is for kind='text', got kind='number'"),
        ({"kind": "text", "logprob": "p"}, "logprob='p' is for kind='category', got kind='text'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_called(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        http_arms({"x": "http://host"}, **options)
    assert said in str(caught.value)


def test_a_key_in_an_answer_is_hidden_where_embed_fails(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "s3cr3t-value-of-a-key")
    options: dict[str, Any] = {"headers": {"Authorization": "Bearer ${SECRET_KEY}"}, "kind": "text", "embed": fails}
    assert "s3cr3t" not in failure(server.url("echo_words"), **options)
