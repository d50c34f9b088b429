#!/usr/bin/python3
"""Makes pictures of the window a third as large: `scripts/palette.py FILE.png…` writes them again with 256 colours. The most frequent
ones stay as they are, since grounds and fields differ by a few steps; the rest of the palette is far from those and from each other."""
import sys

from PIL import Image

FREQUENT, COLOURS = 128, 256


def palette_of(image):
    """An image to give to quantize()."""
    counted = sorted(image.getcolors(1 << 24), reverse=True)
    colours = [colour for _, colour in counted]
    distances = [1 << 20] * len(colours)
    palette = []

    def take(at):
        r, g, b = colours[at]
        palette.append((r, g, b))
        for i, (x, y, z) in enumerate(colours):
            distance = (x - r) ** 2 + (y - g) ** 2 + (z - b) ** 2
            if distance < distances[i]:
                distances[i] = distance

    for at in range(len(colours)):
        if len(palette) == FREQUENT:
            break
        if distances[at] > 6:
            take(at)
    while len(palette) < COLOURS and (far := max(distances)) > 0:
        take(distances.index(far))
    made = Image.new('P', (1, 1))
    flat = [part for colour in palette for part in colour]
    made.putpalette(flat + flat[:3] * (COLOURS - len(palette)))
    return made


def small(image):
    return image.quantize(palette=palette_of(image), dither=Image.Dither.NONE)


if __name__ == '__main__':
    for path in sys.argv[1:]:
        small(Image.open(path).convert('RGB')).save(path, optimize=True)
