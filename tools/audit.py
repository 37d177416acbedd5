"""Looks up known vulnerabilities of the locked dependencies, with pip-audit.

Exit code 1 if there is one. What could not be looked up, as without a network, is counted and told,
and is no failure: a build must not depend on a service of others.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 300


def main() -> int:
    """Audit the lock file that is named."""
    lock = Path(sys.argv[1])
    try:
        audited = subprocess.run(
            [
                *(sys.executable, "-m", "pip_audit", "--requirement", str(lock)),
                *("--disable-pip", "--require-hashes", "--format", "json"),
                *("--progress-spinner", "off"),
            ],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        packages = json.loads(audited.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError) as error:
        print(f"not audited: pip-audit gave no answer ({error!r:.200})")
        return 0
    return report(packages)


def report(packages: list[dict[str, Any]]) -> int:
    """Say what was found; 1 if a package is known to be vulnerable."""
    skipped = [package for package in packages if "skip_reason" in package]
    for package in packages:
        for vulnerability in package.get("vulns", ()):
            fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
            print(
                f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {fixed}"
            )
    vulnerable = sum(bool(package.get("vulns")) for package in packages)
    print(f"{len(packages)} packages: {vulnerable} vulnerable, {len(skipped)} not looked up")
    return int(vulnerable > 0)


if __name__ == "__main__":
    sys.exit(main())
