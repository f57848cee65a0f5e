"""The settings of a run as a TOML file has them: one model for each table of the file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Kind = Literal["number", "category", "text"]
Missing = Literal["raise", "drop", "encode"]
OnFailure = Literal["raise", "retry", "encode"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Table(_Strict):
    """[table]: a file with one row for each sample, or one column for each arm."""

    path: str | list[str]
    arm: str | None = None
    values: list[str] | None = None
    wide: bool = False
    types: dict[str, Kind] = {}
    missing: Missing = "raise"
    order: str | None = None
    where: str | None = None


class Sql(_Strict):
    """[sql]: the rows of a query."""

    query: str
    database: str
    arm: str
    values: list[str] | None = None
    types: dict[str, Kind] = {}
    missing: Missing = "raise"
    order: str | None = None


class Timings(_Strict):
    """[timings]: a file written by hyperfine, pytest-benchmark or Google Benchmark."""

    path: str


class Commands(_Strict):
    """[commands]: one shell command for each arm, under [commands.run]."""

    run: dict[str, str | list[str]] = Field(min_length=1)
    measure: Literal["wall", "cpu", "rss", "output"] = "output"
    json_path: str | None = None
    columns: list[str] | None = None
    warmup: int = Field(default=1, ge=0)
    timeout: float = Field(default=60.0, gt=0)
    env: dict[str, str | dict[str, str]] | None = None
    cwd: str | None = None
    on_failure: OnFailure = "raise"
    retries: int = Field(default=3, ge=0)


class Endpoint(_Strict):
    """An address; method, headers and body if they differ from those of [http]."""

    url: str
    method: str | None = None
    headers: dict[str, str] = {}
    body: Any = None


def _with_url(given: Any) -> Any:
    return {"url": given} if isinstance(given, str) else given


class Http(_Strict):
    """[http]: one address for each arm, under [http.endpoints]."""

    endpoints: dict[str, Annotated[Endpoint, BeforeValidator(_with_url)]] = Field(min_length=1)
    method: str = "POST"
    headers: dict[str, str] | None = None
    body: Any = None
    prompts: str | list[str] | None = None
    paired: bool = False
    value: str | None = None
    kind: Literal["number", "category", "text", "latency"] = "number"
    logprob: str | None = None
    columns: list[str] | None = None
    concurrency: int = Field(default=4, ge=1)
    rate: float | None = Field(default=None, gt=0)
    max_wait: float = Field(default=300.0, gt=0)
    timeout: float = Field(default=60.0, gt=0)
    warmup: int | None = Field(default=None, ge=0)
    price: float = Field(default=0.0, ge=0)
    max_spend: float | None = Field(default=None, gt=0)
    on_failure: OnFailure = "raise"
    retries: int = Field(default=3, ge=0)


class Config(_Strict):
    """All settings of a run or a plan, with one source of arms at most."""

    clusters: int | None = Field(default=None, ge=1)
    delta: float = Field(default=0.05, gt=0, le=1)
    strategy: str | None = None
    options: dict[str, Any] = {}
    max_samples: int | None = Field(default=None, ge=1)
    min_separation: float | None = Field(default=None, gt=0)
    pilot: int | None = Field(default=None, ge=2)
    block: int | str | None = None  # checked with the others that kabc.cluster takes
    check_k: bool | None = None
    tolerance: str | float | dict[str, str | float] | None = None  # checked with the columns
    seed: int | None = Field(default=None, ge=0)
    workers: int | None = Field(default=None, ge=1)
    on_worker_loss: Literal["redraw", "encode", "raise"] | None = None
    watch: bool = True
    storage: str | None = None
    study: str | None = None
    save: str | None = None
    report: str | None = None
    title: str | None = None
    table: Table | None = None
    sql: Sql | None = None
    timings: Timings | None = None
    commands: Commands | None = None
    http: Http | None = None

    @property
    def source(self) -> Table | Sql | Timings | Commands | Http | None:
        """Where the arms come from."""
        return self.table or self.sql or self.timings or self.commands or self.http


SECTIONS: dict[str, type[BaseModel]] = {
    "table": Table,
    "sql": Sql,
    "timings": Timings,
    "commands": Commands,
    "http": Http,
}
