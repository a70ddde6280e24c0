"""A feed's picture becomes a small square, or is refused before it takes time and memory."""

import io
import struct
import zlib

import pytest
from corpus_of_pictures import BLUE, PICTURES, RED, WHITE, drawn, saved
from PIL import Image, features

from feedkeep.feeds.pictures import MAX_BYTES, MAX_SCANS, shrink
from feedkeep.model.errors import NotAPicture


def shown(picture):
    small = shrink(picture)
    image = Image.open(io.BytesIO(small.data))
    assert (image.width, image.mode) == (image.height, "RGB")
    assert image.width <= 300
    assert small.media_type == f"image/{str(image.format).lower()}"
    return image


def is_near(image, place, colour):
    return all(abs(a - b) < 25 for a, b in zip(image.getpixel(place), colour, strict=True))


def header_of_png(width, height):
    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b""))


QUARTERS = [((60, 60), BLUE), ((240, 240), RED)]
CLEAR = [((10, 10), WHITE), ((150, 150), BLUE)]
PIXELS = {
    **dict.fromkeys(["jpeg", "png", "png, palette", "gif", "webp, lossless"], QUARTERS),
    **dict.fromkeys(["png, clear", "png, clear in a palette", "gif, clear", "webp, clear"], CLEAR),
    **dict.fromkeys(["gif, animated", "webp, animated"], QUARTERS[:1]),  # the first frame
    "png, 16 bits of grey": [((150, 150), (156, 156, 156))],
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture_of_any_kind_becomes_a_small_square_and_is_refused_if_it_was_cut_off(name):
    picture = PICTURES[name]()
    small, image = shrink(picture), shown(picture)
    assert small.media_type == "image/webp"
    assert len(small.data) < 40_000
    for place, colour in PIXELS.get(name, ()):
        assert is_near(image, place, colour)
    with pytest.raises(NotAPicture):
        shrink(picture[: len(picture) // 3])


@pytest.mark.parametrize(
    ("orientation", "place"),
    [(1, "upper left"), (2, "upper right"), (3, "lower right"), (4, "lower left"),
     (5, "upper left"), (6, "upper right"), (7, "lower right"), (8, "lower left"),
     (9, "upper left")],
)  # fmt: skip
def test_a_photograph_is_shown_upright(orientation, place):
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = shown(saved(drawn(), "JPEG", exif=exif))
    x, y = 240 if "right" in place else 60, 240 if "lower" in place else 60
    assert is_near(image, (x, y), BLUE)
    assert is_near(image, (300 - x, 300 - y), RED)


def test_what_a_camera_wrote_may_be_damaged():
    damaged = saved(drawn(), "JPEG", exif=b"Exif\0\0nothing of the kind")
    assert is_near(shown(damaged), (60, 60), BLUE)


@pytest.mark.parametrize("step", ["getexif", "resize"])
def test_a_picture_that_this_machine_has_no_memory_for_is_not_damaged(monkeypatch, step):
    def no_memory(*_):
        raise MemoryError

    monkeypatch.setattr(Image.Image, step, no_memory)
    with pytest.raises(MemoryError):
        shrink(PICTURES["png"]())


def test_nothing_is_kept_of_what_its_maker_wrote():
    exif = Image.Exif()
    exif[0x010E] = "A secret of its maker"
    for kind in ("JPEG", "PNG", "WEBP"):
        picture = saved(drawn(), kind, exif=exif, icc_profile=b"profile" * 20)
        assert b"A secret of" in picture
        small = shrink(picture).data
        assert b"secret" not in small
        assert b"profile" not in small
        assert not Image.open(io.BytesIO(small)).getexif()


@pytest.mark.parametrize(
    ("kind", "size", "side", "pixels"),
    [
        ("PNG", (400, 330), 300, [((100, 5), BLUE)]),  # what is nearly square is cut
        ("PNG", (600, 100), 300, [((150, 60), WHITE), ((10, 135), BLUE), ((290, 165), RED)]),
        ("PNG", (32, 32), 64, [((4, 4), BLUE), ((60, 60), RED)]),  # an icon is not blown up
        ("PNG", (64, 16), 128, [((64, 10), WHITE)]),
        ("PNG", (4_096, 4_096), 300, QUARTERS),
        ("JPEG", (4_096, 4_096), 300, QUARTERS),
        ("PNG", (4_096, 16), 300, [((150, 20), WHITE)]),
    ],
)
def test_picture_of_any_size_is_cut_or_framed(kind, size, side, pixels):
    image = shown(saved(drawn(size=size), kind))
    assert image.width == side
    for place, colour in pixels:
        assert is_near(image, place, colour)


def test_where_webp_cannot_be_written_it_is_jpeg(monkeypatch):
    monkeypatch.setattr(features, "check", lambda _: False)
    assert shrink(PICTURES["png"]()).media_type == "image/jpeg"
    assert is_near(shown(PICTURES["png"]()), (60, 60), BLUE)


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (b"", "damaged, or none of PNG, JPEG, WebP and GIF"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "damaged, or none of PNG"),
        (saved(drawn(), "BMP"), "damaged, or none of PNG"),
        (saved(drawn(), "TIFF"), "damaged, or none of PNG"),
        (b"x" * (MAX_BYTES + 1), "more than 4,194,304 bytes"),
        (saved(drawn(size=(15, 400)), "PNG"), "only 15 x 400 pixels"),
        (header_of_png(4_097, 100), "more than 4,096 x 4,096 pixels"),
        (header_of_png(5_000, 5_000), "more than 4,096 x 4,096 pixels"),
        (header_of_png(60_000, 60_000), "more than 4,096 x 4,096 pixels"),
        (saved(drawn(size=(4_097, 20)), "WEBP"), "more than 4,096 x 4,096 pixels"),
        (saved(drawn(size=(20, 4_097)), "WEBP", lossless=True), "more than 4,096 x 4,096 pixels"),
        (saved(drawn("RGBA", (4_097, 20)), "WEBP", exif=b"x"), "more than 4,096 x 4,096 pixels"),
        (b"RIFF\0\0\0\0WEBPVP8X", "only 1 x 1 pixels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_picture_or_too_large_is_refused(picture, reason):
    with pytest.raises(NotAPicture, match=reason):
        shrink(picture)


def test_a_jpeg_that_never_gets_sharp_is_refused():
    picture = PICTURES["jpeg, progressive"]()
    last = picture[picture.rindex(b"\xff\xda") : -2]
    assert is_near(shown(picture[:-2] + last * 9 + b"\xff\xd9"), (60, 60), BLUE)
    with pytest.raises(NotAPicture, match="more than 100 scans"):
        shrink(picture[:-2] + last * MAX_SCANS + b"\xff\xd9")
