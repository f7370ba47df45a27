"""deploy/ without Docker: every command is one of ours, ports and names agree, versions are pinned, figures exist."""

from __future__ import annotations

import copy
import json
import re
import runpy
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from jimbot.clients.bus_contract import BusMetrics
from jimbot.runs.sinks.prometheus import RUN_METRICS, PrometheusSink, prometheus_name
from jimbot.services.prometheus import BUS_COUNTERS, BUS_PREFIX, COUNTERS, HISTOGRAMS, PREFIX, open_metrics
from tests.docs.commands import Line
from tests.docs.names import command_line, is_figure
from tests.docs.pages import REPOSITORY
from tests.docs.test_commands import complaint
from tests.services.asking import Scripted, probe_request, serve, service_of

DEPLOY = REPOSITORY / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
CLUSTER = list(yaml.safe_load_all((DEPLOY / "kubernetes/ray-training.yaml").read_text()))
DIRECTIVES = {
    "Unit": {"Description", "After"},
    "Service": {
        "User", "WorkingDirectory", "Environment", "EnvironmentFile", "ExecStart", "Restart", "RestartSec", "MemoryMax",
        "TimeoutStopSec", "Nice", "NoNewPrivileges", "ProtectSystem", "ReadWritePaths", "PrivateTmp",
    },
    "Install": {"WantedBy"},
}  # fmt: skip
SERVED = (
    {f"{PREFIX}{name}_total" for name in (*COUNTERS, "beside_training")}
    | {f"{PREFIX}{name}_{end}" for name in HISTOGRAMS for end in ("bucket", "sum", "count")}
    | {f"{PREFIX}{name}" for name in ("queue_depth", "in_flight", "policy")}
    | {f"{BUS_PREFIX}{name}_total" for name in (*BUS_COUNTERS, "reconnects")}
    | {f"{BUS_PREFIX}lag"}
    | {prometheus_name(name) for name in RUN_METRICS}
)
"""What services and runs show under names that do not depend on a game."""


RUN_ROW = (
    "train/mean_episode_return", "train/entropy", "speed/steps_per_second", "health/memory_share", "health/disk_share",
    "health/illegal_actions",
)  # fmt: skip
"""Metrics of a log row that every learner writes."""


def services() -> dict[str, dict[str, Any]]:
    return COMPOSE["services"]


def ours() -> dict[str, list[str]]:
    """The services that are JimBot, and what they are told."""
    return {name: about["command"] for name, about in services().items() if about["image"].startswith("jimbot:")}


def default(command: str, flag: str) -> Any:
    return next(one.default for one in command_line().commands[command].params if flag in one.opts)


def option(words: list[str], flag: str) -> str | None:
    return words[words.index(flag) + 1] if flag in words else None


def container_ports(name: str) -> set[int]:
    about = services()[name]
    return {int(str(port).split(":")[-1]) for port in (*about.get("ports", ()), *about.get("expose", ()))}


def exec_starts(unit: Path) -> list[str]:
    return [line.partition("=")[2] for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]


# --- compose ---


SCHEMAS = {
    "vendor.compose-spec": [DEPLOY / "compose.yaml"],
    "vendor.github-workflows": sorted((REPOSITORY / ".github/workflows").glob("*.yml")),
    "vendor.dependabot": sorted((REPOSITORY / ".github").glob("dependabot.yml")),
}
"""Files of other programs, by the schema their authors publish (check-jsonschema brings them along)."""


@pytest.mark.parametrize(("schema", "path"), [(name, path) for name, paths in SCHEMAS.items() for path in paths])
def test_files_of_other_programs_keep_to_their_schema(schema: str, path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_compose_has_everything_and_all_it_names_is_there() -> None:
    wanted = {"serve", "ui", "nats", "memgraph", "questdb", "prometheus", "grafana"}
    assert wanted <= services().keys()
    for about in services().values():
        assert set(about.get("depends_on", ())) <= services().keys()
        assert set(about.get("secrets", ())) <= COMPOSE["secrets"].keys()
        for volume in about.get("volumes", ()):
            source, inside = volume.split(":")[:2]
            assert inside.startswith("/")
            is_file = source.startswith("./")
            assert (DEPLOY / source).exists() if is_file else source in COMPOSE["volumes"], volume


@pytest.mark.parametrize("name", ours())
def test_our_commands_are_read_by_the_command_line(name: str) -> None:
    assert complaint(Line(name, " ".join(["jimbot", *ours()[name]]))) is None


def test_ports_are_those_of_the_command_line() -> None:
    assert default("serve", "--port") in container_ports("serve")
    assert default("ui", "--port") in container_ports("ui")
    for name, words in ours().items():
        port = option(words, "--metrics-port")
        assert port is None or int(port) in container_ports(name)
        for address in (word for word in words if "://" in word):
            host, port = re.findall(r"//([\w.-]+):(\d+)", address)[0]
            assert int(port) in container_ports(host), address
        assert option(words, "--host") != "0.0.0.0" or "--token-file" in words, f"{name} lets everybody in"


def test_nothing_is_opened_to_other_machines_and_every_image_is_pinned() -> None:
    for name, about in services().items():
        assert all(str(port).startswith("127.0.0.1:") for port in about.get("ports", ())), name
        assert re.search(r":v?\d+\.\d+\.\d+", about["image"]), f"{about['image']} may be another one tomorrow"
    base = re.findall(r"^FROM (.+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert all(re.search(r":\d+\.\d+\.\d+-", image) for image in base)
    assert "latest" not in (DEPLOY / "compose.yaml").read_text()


def test_the_image_copies_what_is_there_and_installs_extras_that_exist() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    copied = [word for line in re.findall(r"^COPY (.+)$", text, re.MULTILINE) for word in line.split()[:-1]]
    assert not [path for path in copied if not (REPOSITORY / path).exists()]
    allowed = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line[0] == "!"}
    assert set(copied) == allowed
    extras = set(re.findall(r"EXTRAS=([\w,]+)", text)[1].split(","))
    declared = re.findall(r"^(\w+) = \[", (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert extras <= set(declared)


# --- Prometheus and Grafana ---


def test_prometheus_looks_where_figures_are_shown() -> None:
    config = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())
    targets = [one for job in config["scrape_configs"] for place in job["static_configs"] for one in place["targets"]]
    shown = {f"{name}:{port}" for name, words in ours().items() if (port := option(words, "--metrics-port"))}
    assert set(targets) == shown
    secrets = {job["authorization"]["credentials_file"] for job in config["scrape_configs"]}
    words = ours()
    asked = option(words["serve"], "--token-file"), option(words["train"], "--metrics-token-file")
    assert secrets == set(asked), "who shows figures to other machines asks for a token"
    assert [(DEPLOY / "prometheus" / name).exists() for name in config["rule_files"]] == [True]


def expressions() -> list[str]:
    board = json.loads((DEPLOY / "grafana/dashboards/jimbot.json").read_text())
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


def test_the_dashboard_is_the_table_and_every_figure_in_it_exists() -> None:
    made = runpy.run_path(str(DEPLOY / "grafana/dashboard.py"))["text"]()
    assert (DEPLOY / "grafana/dashboards/jimbot.json").read_text() == made, "type: python deploy/grafana/dashboard.py"
    rules = yaml.safe_load((DEPLOY / "prometheus/rules.yaml").read_text())["groups"][0]["rules"]
    named = {
        name for text in (*expressions(), *(rule["expr"] for rule in rules)) for name in re.findall(r"jimbot_\w+", text)
    }
    assert len(named) > 20
    fixed = ("jimbot_serve_", "jimbot_bus_", "jimbot_run_")
    assert not {name for name in named if name.startswith(fixed)} - SERVED
    assert not [name for name in named if not name.startswith(fixed) and not is_figure(name)]


def exported() -> str:
    """What a service with a bus and a run with every metric of the table show to Prometheus."""
    service = service_of(serve(Scripted()))
    service.decide(probe_request(1))
    bus = BusMetrics()
    for counter in bus.counters().values():
        counter["game.result"] += 1
    bus.lag["reader"] = 1
    pages = []
    port, stop = open_metrics(service, "127.0.0.1", 0, bus)
    run = PrometheusSink(0, "mine", "probe")
    run.record(1, 1.0, {**dict.fromkeys(RUN_ROW, 1.0), "health/rss_mb": 2.0})
    run.checkpoint(1, Path("x"), True)
    for place in (port, run.port):
        with urllib.request.urlopen(f"http://127.0.0.1:{place}/metrics", timeout=60) as page:
            pages.append(page.read().decode())
    stop()
    run.close()
    return "".join(pages)


def test_every_query_finds_something_that_is_exported_in_base_units() -> None:
    families = {family.name: family for family in text_string_to_metric_families(exported())}
    shown = {sample.name for family in families.values() for sample in family.samples}
    shown |= {f"{name}_total" for name, family in families.items() if family.type == "counter"}  # by reasons that came
    asked = {name for text in expressions() for name in re.findall(r"jimbot_\w+", text)}
    assert asked <= shown
    assert families["jimbot_health_rss_bytes"].samples[0].value == 2 * 2**20
    assert not [name for name in families if re.search(r"_(ms|us|mb|gb|kb|minutes|milliseconds|megabytes)(_|$)", name)]
    assert not [name for name, family in families.items() if not family.documentation]


@pytest.mark.long
def test_promtool_finds_nothing_to_say_about_what_is_exported() -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; install it: apt-get install prometheus"
    done = subprocess.run([promtool, "check", "metrics"], input=exported(), capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_grafana_is_told_of_the_source_its_panels_ask() -> None:
    sources = yaml.safe_load((DEPLOY / "grafana/provisioning/datasources/prometheus.yaml").read_text())["datasources"]
    board = json.loads((DEPLOY / "grafana/dashboards/jimbot.json").read_text())
    asked = {panel["datasource"]["uid"] for panel in board["panels"] if "datasource" in panel}
    assert asked == {source["uid"] for source in sources}
    assert sources[0]["url"] == "http://prometheus:9090"
    provider = yaml.safe_load((DEPLOY / "grafana/provisioning/dashboards/jimbot.yaml").read_text())["providers"][0]
    inside = [volume.split(":")[1] for volume in services()["grafana"]["volumes"]]
    assert provider["options"]["path"] in inside


@pytest.mark.long
def test_promtool_takes_the_configuration_and_every_panel(tmp_path: Path) -> None:
    promtool = shutil.which("promtool")
    assert promtool, "promtool is missing; install it: apt-get install prometheus"
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions())]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    config = (DEPLOY / "prometheus/prometheus.yaml").read_text()
    (tmp_path / "tokens").write_text("a-token-of-many-letters")
    (tmp_path / "rules.yaml").write_text((DEPLOY / "prometheus/rules.yaml").read_text())
    (tmp_path / "prometheus.yaml").write_text(config.replace("/run/secrets/tokens", str(tmp_path / "tokens")))
    for words in (["config", tmp_path / "prometheus.yaml"], ["rules", tmp_path / "panels.yaml"]):
        done = subprocess.run([promtool, "check", *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# --- systemd ---


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_start_commands_of_ours_and_may_write_where_they_work(unit: Path) -> None:
    section, found = "", {}
    for line in unit.read_text().splitlines():
        if head := re.fullmatch(r"\[(\w+)\]", line):
            section = head[1]
        elif line and line[0] not in "#;":
            name, _, value = line.partition("=")
            assert name in DIRECTIVES[section], line
            found[name] = value
    (start,) = exec_starts(unit)
    program, *words = start.replace("%i", "balatro").split()
    assert Path(program).name == "jimbot"
    assert complaint(Line(unit.name, " ".join(["jimbot", *words]))) is None
    assert found["ReadWritePaths"] == found["WorkingDirectory"]
    assert found["User"] != "root"


# --- Kubernetes ---


def test_the_job_on_a_cluster_keeps_to_the_schema_of_rays_operator() -> None:
    schema = yaml.safe_load((Path(__file__).parent / "rayjob.schema.yaml").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    _, job = CLUSTER
    jsonschema.validate(job, schema)
    job = copy.deepcopy(job)
    job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["portz"] = []
    with pytest.raises(jsonschema.ValidationError, match="portz"):
        jsonschema.validate(job, schema)


def test_the_job_on_a_cluster_is_one_of_rays_operator_and_a_command_of_ours() -> None:
    claim, job = CLUSTER
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    words = job["spec"]["entrypoint"].split()
    assert complaint(Line("entrypoint", " ".join(words))) is None
    cluster = job["spec"]["rayClusterSpec"]
    assert f"ray[rllib]=={cluster['rayVersion']}" in (REPOSITORY / "pyproject.toml").read_text()
    head, (players,) = cluster["headGroupSpec"], cluster["workerGroupSpecs"]
    assert head["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    (container,) = head["template"]["spec"]["containers"]
    assert option(words, "--runs-dir").startswith(container["volumeMounts"][0]["mountPath"])
    assert int(option(words, "--metrics-port")) in {port["containerPort"] for port in container["ports"]}
    places = players["replicas"] * int(players["rayStartParams"]["num-cpus"])
    assert int(option(words, "--num-env-runners")) <= places, "some players would wait for a CPU for ever"
    assert players["minReplicas"] <= players["replicas"] <= players["maxReplicas"]
