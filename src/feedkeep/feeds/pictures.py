"""Thumbnails of feed pictures: browsers get only images re-encoded by this service."""

from __future__ import annotations

import hashlib
import io
import re
import warnings

from PIL import Image, features

from feedkeep.model import Picture
from feedkeep.model.errors import NotAPicture

MAX_BYTES = 4 * 1024 * 1024
MAX_SIDE = 4_096
MIN_SIDE = 16
MAX_SCANS = 100
"""Limits of a picture: bytes, pixels of each side, and progressive scans of a JPEG.

A scan of a few bytes processes all pixels again. Tiny pictures are tracking pixels.
"""

SIDE = 300
QUALITY = 80
_STRIP_ROWS = 32
_MAX_ENLARGED = 2
_MAX_CUT_RATIO = 1.25
_WHITE = (255, 255, 255)

_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
_JPEG = b"\xff\xd8"
_JPEG_SCAN = b"\xff\xda"
_WEBP = re.compile(rb"RIFF....WEBP(VP8[ LX])", re.DOTALL)
_ORIENTATION = 0x0112
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

# Pillow's own limit, as its manual recommends; the sides are checked, too.
Image.MAX_IMAGE_PIXELS = MAX_SIDE * MAX_SIDE
warnings.simplefilter("error", Image.DecompressionBombWarning)


def shrink(picture: bytes) -> Picture:
    """Return a picture as a square thumbnail of at most `SIDE` pixels.

    A nearly square picture is cropped; others, such as logos with a name, are shown completely. Of
    an animation, the first frame is used. Transparency becomes white: logos are made for white
    pages. A truncated picture is refused, since its grey part would be kept.

    Raises:
        NotAPicture: The picture is too large, damaged, or not PNG, JPEG, WebP or GIF.
    """
    if len(picture) > MAX_BYTES:
        raise NotAPicture("The picture has more than {max} bytes.", max=MAX_BYTES)
    if picture.startswith(_JPEG) and picture.count(_JPEG_SCAN) > MAX_SCANS:
        raise NotAPicture("The picture has more than {max} scans.", max=MAX_SCANS)
    _check_webp(picture)
    try:
        square = _square_of(picture)
    except (NotAPicture, MemoryError):  # out of memory is this machine's problem
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_many_pixels() from error
    except Exception as error:  # decoders raise all kinds of errors for damaged pictures
        raise NotAPicture("The picture is damaged, or none of PNG, JPEG, WebP and GIF.") from error
    written = io.BytesIO()
    if features.check("webp"):
        square.save(written, "WEBP", quality=QUALITY)
        media_type = "image/webp"
    else:
        square.save(written, "JPEG", quality=QUALITY, optimize=True)
        media_type = "image/jpeg"
    data = written.getvalue()
    return Picture(media_type, data, hashlib.sha256(data).hexdigest()[:16])


def _square_of(picture: bytes) -> Image.Image:
    with Image.open(io.BytesIO(picture), formats=_FORMATS) as image:
        _check_sides(*image.size)
        width, height, side = _shown_size(*image.size)
        # A JPEG is decoded at an eighth of its size if that suffices.
        image.draft("RGB", (width, height))
        turn = _turn_upright(image)
        factor = min(image.width // width, image.height // height) // 2
        small = _reduced(image, max(1, factor)).resize((width, height), Image.Resampling.LANCZOS)
    if turn is not None:
        small = small.transpose(turn)
    square = Image.new("RGB", (side, side), _WHITE)
    place = (side - small.width) // 2, (side - small.height) // 2
    square.paste(small, place, small if small.mode == "RGBA" else None)
    return square


def _turn_upright(image: Image.Image) -> Image.Transpose | None:
    # Damaged metadata must not make the picture unusable.
    try:
        orientation = image.getexif().get(_ORIENTATION)
    except MemoryError:  # this machine's problem
        raise
    except Exception:  # noqa: BLE001 - decoders raise all kinds of errors
        return None
    return _UPRIGHT.get(orientation) if isinstance(orientation, int) else None


def _reduced(image: Image.Image, factor: int) -> Image.Image:
    """Reduce a picture by averaging pixels.

    Conversion to another mode takes up to four times the memory of the decoded picture, so only a
    strip is converted at a time.
    """
    strips = []
    for top in range(0, image.height, _STRIP_ROWS * factor):
        bottom = min(image.height, top + _STRIP_ROWS * factor)
        strip = image.crop((0, top, image.width, bottom))
        strips.append(_in_colours(strip).reduce(factor))
    size = strips[0].width, sum(strip.height for strip in strips)
    reduced = Image.new(strips[0].mode, size)
    for number, strip in enumerate(strips):
        reduced.paste(strip, (0, number * _STRIP_ROWS))
    return reduced


def _in_colours(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):  # 16 bits of grey, which `convert` would clip to white
        return image.point(lambda value: value * (1 / 256)).convert("L").convert("RGB")
    mode = "RGBA" if image.has_transparency_data else "RGB"
    return image if image.mode == mode else image.convert(mode)


def _shown_size(width: int, height: int) -> tuple[int, int, int]:
    """Return the scaled size of a picture, and the side of its square.

    Parts of the picture may lie outside. A small picture gets a small square: a white frame would
    be too bright on dark pages.
    """
    is_nearly_square = max(width, height) <= _MAX_CUT_RATIO * min(width, height)
    fitted = min(width, height) if is_nearly_square else max(width, height)
    scale = min(SIDE / fitted, _MAX_ENLARGED)
    return max(1, round(width * scale)), max(1, round(height * scale)), round(fitted * scale)


def _check_sides(width: int, height: int) -> None:
    if max(width, height) > MAX_SIDE:
        raise _too_many_pixels()
    if min(width, height) < MIN_SIDE:
        raise NotAPicture(
            "The picture has only {width} x {height} pixels.", width=width, height=height
        )


def _too_many_pixels() -> NotAPicture:
    return NotAPicture("The picture has more than {max} x {max} pixels.", max=MAX_SIDE)


def _check_webp(picture: bytes) -> None:
    """Check the size in a WebP header: opening the file allocates all of its pixels."""
    found = _WEBP.match(picture)
    if found is None:
        return
    head = picture[20:30].ljust(10, b"\0")
    match found[1]:
        case b"VP8X":
            _check_sides(
                int.from_bytes(head[4:7], "little") + 1, int.from_bytes(head[7:10], "little") + 1
            )
        case b"VP8L":
            bits = int.from_bytes(head[1:5], "little")
            _check_sides((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case _:
            _check_sides(
                int.from_bytes(head[6:8], "little") & 0x3FFF,
                int.from_bytes(head[8:10], "little") & 0x3FFF,
            )
