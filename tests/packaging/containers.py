"""Parses the compose file, the Containerfile and Grafana's provisioning, and holds them against the tree and each other."""
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(sys.argv[1])
HERE = ROOT / "ops/container"
BUILT = {"build/dashboards"}  # made by ops/grafana/dashboards before


def check(truth, text):
    if not truth:
        sys.exit(f"containers: {text}")


def load(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def main():
    compose = load("ops/container/compose.yaml")
    services = compose["services"]
    check(set(services) == {"kafka", "gapwatch", "prometheus", "grafana"}, f"services are {sorted(services)}")
    for name, service in services.items():
        check(("image" in service) != ("build" in service), f"{name} has an image or is built")
        check(":latest" not in service.get("image", ":") and ":" in service.get("image", ":"), f"{name} fixes no version")
        for other in service.get("depends_on", []):
            check(other in services, f"{name} depends on {other}, which is none")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if not source.startswith("."):
                check(source in compose["volumes"], f"{name}: volume {source} is not declared")
                continue
            path = (HERE / source).resolve()
            check(str(path.relative_to(ROOT)) in BUILT or path.exists(), f"{name}: {source} is not there")

    containerfile = (HERE / "Containerfile").read_text(encoding="utf-8")
    port = re.search(r"^EXPOSE (\d+)$", containerfile, re.M).group(1)
    settings = load("ops/container/gapwatch.yaml")
    check(settings["http"]["listen"] == f"0.0.0.0:{port}", "gapwatch listens on another port than the image exposes")
    check(services["gapwatch"]["ports"] == [f"127.0.0.1:{port}:{port}"], "the published port is another")
    check(settings["source"]["kafka"]["brokers"] == services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split("//")[1],
          "gapwatch and Kafka do not name the same broker")
    check(settings["state"]["path"] in [volume.split(":")[1] for volume in services["gapwatch"]["volumes"]], "the state is not on a volume")
    check((ROOT / services["gapwatch"]["build"]["dockerfile"]).exists(), "there is no such Containerfile")

    scrape = load("ops/container/prometheus.yml")["scrape_configs"][0]
    check(scrape["job_name"] == "gapwatch" and scrape["static_configs"][0]["targets"] == [f"gapwatch:{port}"], "Prometheus scrapes another target")
    mounted = [pathlib.Path(volume.split(":")[1]).name for volume in services["prometheus"]["volumes"]]
    for rules in load("ops/container/prometheus.yml")["rule_files"]:
        check(rules in mounted, f"{rules} is not mounted")
    dashboards = load("ops/grafana/provisioning/dashboards/gapwatch.yml")["providers"][0]["options"]["path"]
    check(dashboards in [volume.split(":")[1] for volume in services["grafana"]["volumes"]], "the dashboards are mounted elsewhere")
    variable = load("ops/grafana/provisioning/datasources/gapwatch.yml")["datasources"][0]["url"].strip("${}")
    check(variable in services["grafana"]["environment"], f"Grafana is not given {variable}")


if __name__ == "__main__":
    main()
