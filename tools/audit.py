"""Look up known vulnerabilities of the locked dependencies, with pip-audit.

The exit code is 1 if there is one. Failed look-ups, as without a network, are counted and do not
fail: a build must not depend on a foreign service.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SECONDS = 300


def main() -> int:
    """Audit the lock file of the first argument."""
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
    """Print the findings; return 1 if a package is vulnerable."""
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
