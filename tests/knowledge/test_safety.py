"""Hostile Cypher is refused before any engine sees it; ordinary questions are not."""

from __future__ import annotations

import pytest

from jimbot.errors import KnowledgeError
from jimbot.knowledge.store import LONGEST, check_question


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (j:Joker) RETURN j.name",
        "  match (j) where j.name = 'DELETE' return j ; ",
        "OPTIONAL MATCH (s:Strategy) RETURN s.set, s.create",
        "UNWIND $rows AS r RETURN r // CREATE nothing",
        "WITH 1 AS x RETURN /* DROP it */ x",
        "MATCH (a)-[s:SYNERGIZES_WITH]->(b) WHERE s.low > 0 RETURN a.key ORDER BY s.strength LIMIT 3",
        'RETURN "a \\" DELETE" AS created, `SET`',
    ],
)
def test_questions_pass(query: str) -> None:
    assert check_question(query) == query


@pytest.mark.parametrize(
    "query",
    [
        "", "   ", "hello", "MATCH (j:Joker)", ";",
        "CREATE (:Joker)", "MATCH (j) DELETE j", "match (j) detach delete j", "MATCH (j) SET j.name = 1 RETURN j",
        "MATCH (j) REMOVE j.name RETURN j", "MERGE (j:Joker) RETURN j", "DROP TABLE Joker",
        "COPY (MATCH (j) RETURN j) TO '/tmp/x.csv'", "LOAD FROM '/etc/passwd' RETURN *",
        "LOAD CSV FROM 'x' AS l RETURN l",
        "CALL db.labels() YIELD label RETURN label", "MATCH (j) CALL { MATCH (n) RETURN n } RETURN j",
        "INSTALL httpfs", "ATTACH 'x' AS y", "RETURN 1; RETURN 2", "EXPLAIN MATCH (j) RETURN j",
        "MATCH (j) FOREACH (x IN [1] | CREATE (:Joker)) RETURN j", "RETURN apoc.load.json('http://x')",
        "MATCH (j) WHERE j.name = 'a\\' RETURN j", "MATCH (j) /* RETURN j", "RETURN '\\u0027", "RETURN 1\0",
        "MATCH (j) /* ' */ DELETE j // '\nRETURN j", "SHOW DATABASES RETURN 1", "USE x MATCH (j) RETURN j",
        "MATCH (n) RETURN n" + " " * LONGEST,
    ],
)  # fmt: skip
def test_everything_else_is_refused_in_one_sentence(query: str) -> None:
    with pytest.raises(KnowledgeError) as problem:
        check_question(query)
    assert "\n" not in str(problem.value)
    assert problem.value.exit_code == 2
