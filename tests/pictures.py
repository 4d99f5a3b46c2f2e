#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pictures.py: checks that in every picture of docs/ all text is inside its box and the canvas and overlaps no other text, with the
fonts that viewers use; and that the boxes of docs/layers.svg name existing parts of the tree (planned boxes: missing ones), all folders of
the chip and of libsidra, all examples and tools, and exactly the engines that the chip has."""
import pathlib
import re
import sys
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parent.parent
# Advance widths of the characters from space to ~, in thousandths of the size: DejaVu Sans, which is wider than the
# other fonts that viewers take for Helvetica and Arial (Liberation Sans, Nimbus Sans).
PLAIN = [318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337,
         337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732,
         684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635,
         635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838]
BOLD = [348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400,
        400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850, 733, 850, 770, 720, 682, 812,
        774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687, 716,
        716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838]
MARGIN = 4  # of a text inside its box
ASCENT, DESCENT = 0.76, 0.24  # of the size


CHIP_HEADER = TOP / "qemu-device/chip/include/sidra_chip.h"


def parts():
    """What docs/layers.svg has to have: names of boxes, and words."""
    def folders(path):
        return {one.name for one in (TOP / path).iterdir() if one.is_dir()}
    boxes = {"kmod", "firmware", "libsidra", "python", "tools", "uapi", "libsidra/examples", "libsidra/smi", "qemu-device/qemu", "qemu-device/chip", "compiler"}
    boxes |= {f"chip/{name}" for name in folders("qemu-device/chip") - {"include"}}
    boxes |= {f"transport/{name}" for name in folders("libsidra/transport")}
    boxes |= folders("libsidra") - {"include", "src", "examples", "smi", "transport"}
    tools = {name.removeprefix("sidra-") for name in folders("tools") if name.startswith("sidra-")} - {"smi"}
    return boxes, folders("libsidra/examples") | tools | {"sidra-smi"}


def number(text):
    return float(text.removesuffix("px"))


class Picture:
    def __init__(self, path):
        self.path, self.failures = path, []
        root = xml.etree.ElementTree.parse(path).getroot()
        self.width, self.height = map(float, root.get("viewBox").split()[2:])
        styles, self.texts, self.boxes = {}, [], []
        for element in root.iter():
            tag = element.tag.split("}")[1]
            if tag == "style":
                styles = {name: dict(re.findall(r"([\w-]+):\s*([^;]+?)\s*(?:;|$)", body)) for name, body in re.findall(r"\.(\w+)\s*{([^}]*)}", element.text)}
            style = {**root.attrib, **element.attrib, **styles.get(element.get("class"), {})}
            if tag == "rect" and element.get("fill-opacity") is None and number(element.get("width")) < self.width:
                x, y, w, h = (number(element.get(name, "0")) for name in ("x", "y", "width", "height"))
                self.boxes.append((x, y, x + w, y + h, element.get("class")))
            if tag == "text":
                size, text = number(style.get("font-size", "16")), element.text
                assert text.isascii(), f"{path.name}: '{text}' has characters whose width is unknown"
                table = BOLD if style.get("font-weight") == "bold" else PLAIN
                width = sum(table[ord(c) - 32] for c in text) * size / 1000
                shift = {"start": 0, "middle": 0.5, "end": 1}[style.get("text-anchor", "start")]
                x, y = number(element.get("x")) - shift * width, number(element.get("y"))
                self.texts.append((x, y - ASCENT * size, x + width, y + DESCENT * size, text, element.get("class"), y))

    def check(self):
        for left, top, right, bottom, text, _, baseline in self.texts:
            if left < 0 or top < 0 or right > self.width or bottom > self.height:
                self.failures.append(f"'{text}' leaves the canvas: {left:.0f} to {right:.0f} of {self.width:.0f}")
            around = [box for box in self.boxes if box[0] <= left < box[2] and box[1] <= baseline <= box[3]]
            if around:
                box = min(around, key=lambda one: (one[2] - one[0]) * (one[3] - one[1]))
                if right > box[2] - MARGIN or left < box[0] + MARGIN or top < box[1] or bottom > box[3]:
                    self.failures.append(f"'{text}' leaves its box: it ends at {right:.0f}, {bottom:.0f}, the box at {box[2]:.0f}, {box[3]:.0f}")
            # A box that begins behind the text belongs to something else.
            for box in self.boxes:
                if box not in around and left < box[2] and box[0] < right and top < box[3] and box[1] < bottom:
                    self.failures.append(f"'{text}' runs into another box at {box[0]:.0f}, {box[1]:.0f}")
        for n, a in enumerate(self.texts):
            for b in self.texts[n + 1:]:
                if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]:
                    self.failures.append(f"'{a[4]}' and '{b[4]}' overlap")

    def check_names(self):
        """Each name with a slash must be a folder; for a planned layer it must not exist."""
        for left, _, _, _, text, style, baseline in self.texts:
            if style != "name":
                continue
            box = min((one for one in self.boxes if one[0] <= left < one[2] and one[1] <= baseline <= one[3]), key=lambda one: (one[2] - one[0]) * (one[3] - one[1]))
            for name in re.findall(r"[\w-]+(?:/[\w-]+)*/?", text.split(" (")[0]):
                if "/" in name:
                    there = any((TOP / prefix / name).is_dir() for prefix in ("", "libsidra", "qemu-device"))
                    if there == (box[4] == "later"):
                        self.failures.append(f"{name} is {'there, and planned' if there else 'not there, and not planned'}")
        boxes, words = parts()
        for wanted, styles in ((boxes, {"name"}), (words, {"name", "note"})):
            named = set(re.findall(r"[\w./-]*\w", " ".join(text[4] for text in self.texts if text[5] in styles)))
            for name in sorted(wanted - named):
                self.failures.append(f"{name} is missing")
        engines = {name.lower().replace("_", "-") for name in re.findall(r"SIDRA_CHIP_ENGINE_(\w+)\s*=", CHIP_HEADER.read_text())} - {"auto"}
        box = next(min((box for box in self.boxes if box[0] <= left < box[2] and box[1] <= baseline <= box[3]), key=lambda one: one[2] - one[0])
                   for left, _, _, _, text, _, baseline in self.texts if text == "chip/engine")
        drawn = " ".join(text for left, _, _, _, text, style, baseline in self.texts
                         if style == "note" and box[0] <= left < box[2] and box[1] <= baseline <= box[3])
        drawn = set(drawn.partition(": ")[2].split(", "))
        if drawn != engines:
            self.failures.append(f"the engines are {', '.join(sorted(engines))}, not {', '.join(sorted(drawn))}")


def main():
    failures = 0
    for path in sorted((TOP / "docs").glob("*.svg")):
        picture = Picture(path)
        picture.check()
        if path.name == "layers.svg":
            picture.check_names()
        for failure in picture.failures:
            print(f"{path.name}: {failure}", file=sys.stderr)
        failures += len(picture.failures)
    sys.exit(failures != 0)


main()
