"""Copy the README's pictures from the screenshots that the browser tests take.

``python3 -m tasks pictures`` takes them and runs this.
"""

import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
# Below this a picture shows what its first screens have shown.
TALLEST = 1700
# The picture of each page, and the screenshot it is made of.
PICTURES = {
    "home": "home_light_1280",
    "permute": "permute_permute-demo_light",
    "schedule": "schedule_schedule-ragged_light_1440",
    "broadcast": "broadcast_broadcast-192_dark",
    "banks": "banks_transpose_32x32_light",
    "layouts": "layouts_layout-tile_light",
    "kernel_lab": "kernel_lab_light",
    "compare": "compare_0_light",
    "runs": "runs_light_1280",
    "lessons": "lessons_wrong_light",
}


def main() -> int:
    """Write every picture with 256 colours; return 1 where a screenshot is missing."""
    missing = []
    for name, taken in PICTURES.items():
        source = ROOT / "screenshots" / f"{taken}.png"
        if not source.is_file():
            missing.append(source.name)
            continue
        picture = Image.open(source).convert("RGB")
        picture = picture.crop((0, 0, picture.width, min(picture.height, TALLEST)))
        picture.quantize(256).save(ROOT / "docs" / "images" / f"{name}.png", optimize=True)
    if missing:
        print(
            "not taken yet, python3 -m tasks pictures takes them:",
            ", ".join(missing),
            file=sys.stderr,
        )
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
