"""The tests of a build with a sanitizer, run by ctest."""

import os
import pathlib
import subprocess
import tempfile
import xml.etree.ElementTree

NO_CLUSTERS = ["--exclude-regex", "^cluster.(spark|dask)$"]  # most of whose time is that of other programs


def run_tests(folder, selection, **environment):
    """(number of tests, names of those that failed)."""
    with tempfile.TemporaryDirectory() as place:
        found = pathlib.Path(place) / "found.xml"
        subprocess.run(
            ["ctest", "--test-dir", folder, "--parallel", str(os.cpu_count()), "--output-junit", found, *selection],
            env={**os.environ, "CTEST_OUTPUT_ON_FAILURE": "1", **environment},
        )
        suite = xml.etree.ElementTree.parse(found).getroot()
    failed = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    return int(suite.get("tests")) - int(suite.get("skipped")) - int(suite.get("disabled")), failed
