"""Small pictures of every kind that feeds have, drawn here."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from PIL import Image

RED, BLUE, WHITE = (220, 20, 20), (20, 20, 220), (255, 255, 255)


def drawn(mode: str = "RGB", size: tuple[int, int] = (320, 320)) -> Image.Image:
    """Return a picture that is red, with its upper left quarter in blue."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (0, 0, size[0] // 2, size[1] // 2))
    return image.convert(mode)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    data = io.BytesIO()
    image.save(data, kind, **options)
    return data.getvalue()


def _clear() -> Image.Image:
    """Return a picture that is blue in its middle and clear around it."""
    image = Image.new("RGBA", (320, 320), (0, 0, 0, 0))
    image.paste((*BLUE, 255), (80, 80, 240, 240))
    return image


def _animated(kind: str) -> bytes:
    frames = [drawn(), Image.new("RGB", (320, 320), WHITE)]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:], duration=100)


def _turned(orientation: int) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010E] = "A secret of its maker"
    return saved(drawn(), "JPEG", exif=exif)


PICTURES: dict[str, Callable[[], bytes]] = {
    "jpeg": lambda: saved(drawn(), "JPEG"),
    "jpeg, progressive": lambda: saved(drawn(), "JPEG", progressive=True),
    "jpeg, grey": lambda: saved(drawn("L"), "JPEG"),
    "jpeg, cmyk": lambda: saved(drawn("CMYK"), "JPEG"),
    "jpeg, turned": lambda: _turned(3),
    "png": lambda: saved(drawn(), "PNG"),
    "png, palette": lambda: saved(drawn().quantize(16), "PNG"),
    "png, clear": lambda: saved(_clear(), "PNG"),
    "png, clear in a palette": lambda: saved(_clear().quantize(16), "PNG"),
    "png, 16 bits of grey": lambda: saved(Image.new("I;16", (320, 320), 40_000), "PNG"),
    "png, one bit": lambda: saved(drawn().convert("1", dither=Image.Dither.NONE), "PNG"),
    "png, grey and clear": lambda: saved(_clear().convert("LA"), "PNG"),
    "gif": lambda: saved(drawn().quantize(16), "GIF"),
    "gif, animated": lambda: _animated("GIF"),
    "gif, clear": lambda: saved(_clear(), "GIF"),
    "webp": lambda: saved(drawn(), "WEBP"),
    "webp, lossless": lambda: saved(drawn(), "WEBP", lossless=True),
    "webp, clear": lambda: saved(_clear(), "WEBP"),
    "webp, animated": lambda: _animated("WEBP"),
}
