"""What a part of the torture needs a build of its own for."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def build(preset, target="all"):
    """The folder of the preset's build, which has the target as the sources are now."""
    folder = ROOT / "build" / preset
    subprocess.run(["cmake", "--preset", preset], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", target, "--parallel", str(os.cpu_count())], check=True,
                   stdout=subprocess.DEVNULL)
    return folder
