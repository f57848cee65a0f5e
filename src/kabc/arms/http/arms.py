"""HTTP endpoints as arms, by name."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from kabc.arms.base import NamedArms
from kabc.arms.checks import column_names, expect, is_positive, is_whole
from kabc.arms.failures import OnFailure, Policy
from kabc.arms.http.answers import Answer, AnswerReader
from kabc.arms.http.arm import HttpArm
from kabc.arms.http.calls import Address, Call, call_of
from kabc.arms.http.prompts import read_prompts
from kabc.arms.http.secrets import LiteralKeyWarning, literal_keys
from kabc.arms.http.spending import Spending
from kabc.arms.http.texts import COLUMN, Embed, Embedded, Encoded, Texts
from kabc.arms.http.waiting import MAX_WAIT, hosts_of, origin_of
from kabc.arms.values import TextForm
from kabc.arms.words import listed
from kabc.core.errors import SettingsError
from kabc.core.words import counted, few


def http_arms(
    endpoints: Mapping[str, str | Address | Mapping[str, Any]],
    *,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    body: Any = None,
    prompts: str | os.PathLike[str] | Sequence[str] | None = None,
    paired: bool = False,
    value: str | None = None,
    kind: Answer = "number",
    logprob: str | None = None,
    columns: Sequence[str] | None = None,
    text: TextForm = "features",
    embed: Embed | None = None,
    concurrency: int = 4,
    rate: float | None = None,
    max_wait: float = MAX_WAIT,
    timeout: float = 60.0,
    warmup: int | None = None,
    price: float = 0.0,
    max_spend: float | None = None,
    on_failure: OnFailure = "raise",
    retries: int = 3,
) -> NamedArms:
    """Arms that are HTTP endpoints. A sample is one call.

    Parameters
    ----------
    endpoints : mapping of str to str, Address or mapping
        The name and the address of each arm. Where method, headers or body differ from the other arms, an `Address` or
        a mapping with its fields.
    method : str, default "POST"
        HTTP method of all endpoints.
    headers : mapping of str to str, optional
        Headers of all endpoints. ``${NAME}`` stands for a variable of the environment, here and in the body. Keys
        belong there and nowhere else: one that is written out gives a warning.
    body : str or JSON value, optional
        What is sent. Text that is JSON counts as JSON. ``{prompt}`` in the body or in the address stands for a prompt.
    prompts : str, path or sequence of str, optional
        A file with one prompt in each line, a file of JSON lines (.jsonl) with a field "prompt", or a list of prompts.
        Each sample takes one at random.
    paired : bool, default False
        Send the same prompts to all endpoints in a round, and compare answers to the same prompt. It takes far fewer
        calls where answers depend on the prompt more than on the endpoint. Only strategy "anytime" can use it.
    value : str, optional
        Path of the value in the JSON answer, e.g. "choices.0.message.content". Default: the whole answer.
    kind : {"number", "category", "text", "latency"}, default "number"
        "number" is a number or a list of them. "category" is one of a few words, numbers or tokens, which are equal or
        not. "text" is compared by its n-grams, or by `embed`. "latency" is the seconds that the call took; latencies
        are drawn one at a time.
    logprob : str, optional
        With kind "category": path of the log-probability of the answer, e.g. "choices.0.logprobs.content.0.logprob". A
        sample is then the token and this number: a cheap probe of a language model that is asked for one token.
    columns : sequence of str, optional
        Names of the numbers of one answer. Needed only where an answer has several numbers and failures are encoded.
    text : {"features", "characters"}, default "features"
        How texts become numbers. "features" are hashed n-grams; "characters" are for the Hamming kernel.
    embed : callable, optional
        With kind "text": a function from a text to a vector, in place of n-grams. All vectors must have the same
        length. It may be called from several threads.
    concurrency : int, default 4
        Calls of one arm that may run at the same time.
    rate : float, optional
        Most calls a second of one arm. Default: no limit.
    max_wait : float, default 300.0
        Most seconds to wait for a host that refuses calls with status 429 (too many requests), or 503 with a
        Retry-After header. That is never a failure: all arms on the host pause, for as long as it asks for or with
        growing random pauses, and the call is made again. An arm that got no answer for this long ends the run.
    timeout : float, default 60.0
        Seconds after which a call without an answer has failed.
    warmup : int, optional
        Calls of each arm before its first sample. They are not samples. Default: 1 for latencies, else 0.
    price : float, default 0.0
        Price of one call. A failed call is paid too.
    max_spend : float, optional
        Limit on the price of all calls together. No call is made that would go over it. Default: no limit.
    on_failure : {"raise", "retry", "encode"}, default "raise"
        What happens after an error status, a timeout or an answer without the value. "raise" ends the run. "retry"
        tries again up to `retries` times, with growing pauses; the distributions compared are then those given success.
        "encode" makes a failure a value, with an extra last column "failed".
    retries : int, default 3
        Most new tries of one sample.

    Returns
    -------
    NamedArms
        The arms by name, for `kabc.cluster`.

    Examples
    --------
    >>> from kabc.arms.http import http_arms
    >>> arms = http_arms(
    ...     {"old": "https://old.example/answer", "new": "https://new.example/answer"},
    ...     headers={"Authorization": "Bearer ${API_KEY}"},
    ...     body={"prompt": "{prompt}"},
    ...     prompts=["Name a colour.", "Name a town."],
    ...     value="choices.0.text",
    ...     kind="text",
    ... )  # doctest: +SKIP
    >>> kabc.cluster(arms, n_clusters=2)  # doctest: +SKIP
    """
    expect(kind in get_args(Answer), "kind", kind, "'number', 'category', 'text' or 'latency'")
    expect(is_whole(concurrency) and concurrency > 0, "concurrency", concurrency, "a whole number, 1 or more")
    expect(rate is None or is_positive(rate), "rate", rate, "a number of calls a second above 0, or None")
    expect(is_positive(max_wait), "max_wait", max_wait, "a finite number of seconds above 0")
    expect(is_positive(timeout), "timeout", timeout, "a finite number of seconds above 0")
    expect(value is None or bool(value), "value", value, "a path like 'choices.0.text', or None")
    warmup = (1 if kind == "latency" else 0) if warmup is None else warmup
    expect(is_whole(warmup) and warmup >= 0, "warmup", warmup, "a whole number, 0 or more")
    expect(isinstance(paired, bool), "paired", paired, "True or False")
    if paired and prompts is None:
        raise SettingsError("paired=True compares answers to the same prompt, and there are no prompts; pass prompts=")
    made = _texts(kind, logprob, text, embed)
    if made is None:
        known = ("latency",) if kind == "latency" else column_names(columns)
    else:
        known = (*made.names, *(("logprob",) if logprob else ()))
    reader, policy = AnswerReader(kind, value, made, logprob), Policy(on_failure, retries, known)
    spending, texts = Spending(price, max_spend), read_prompts(prompts)
    shared = Address("", method, headers or {}, body)
    calls = {name: call_of(name, given, shared, texts) for name, given in endpoints.items()}
    hosts = hosts_of((call.url for call in calls.values()), float(max_wait))
    arms = {
        name: HttpArm(
            name,
            call,
            reader,
            policy,
            spending,
            hosts[origin_of(call.url)],
            concurrency=concurrency,
            rate=rate,
            timeout=float(timeout),
            warmup=warmup,
            paired=paired,
        )
        for name, call in calls.items()
    }
    notes = (*policy.notes, *([] if made is None else [f"answers: {made.describe()}"]), *_warned(calls))
    source = few(list(dict.fromkeys(origin_of(call.url) for call in calls.values())))
    return NamedArms(
        arms,
        notes=notes,
        columns=policy.sample_columns,
        price=price,
        types={COLUMN: "category"} if kind == "category" and not logprob else {},  # for the Hamming kernel
        levels={} if made is None else made.levels,
        source=source,
    )


def _texts(kind: Answer, logprob: str | None, form: TextForm, embed: Embed | None) -> Texts | None:
    """What makes texts numbers; None where answers are numbers already."""
    if logprob is not None and kind != "category":
        raise SettingsError(f"logprob={logprob!r} is for kind='category', got kind={kind!r}; change one of them")
    if embed is not None and kind != "text":
        raise SettingsError(f"embed= is for kind='text', got kind={kind!r}; change one of them")
    if kind == "category" or (kind == "text" and embed is None):
        return Encoded(kind, form)
    return None if embed is None else Embedded(embed)


def _warned(calls: Mapping[str, Call]) -> list[str]:
    """Warn of keys that are written out, once for all arms."""
    names = dict.fromkeys(name for call in calls.values() for name in literal_keys(call.headers))
    if not names:
        return []
    where = f"{counted(len(names), 'header')} ({listed(names, 3)})"
    said = f"keys: written out in {where}; write ${{NAME}} there and set that variable of the environment"
    warnings.warn(said, LiteralKeyWarning, stacklevel=3)
    return [said]
