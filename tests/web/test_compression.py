"""Who gets a stream of events in gzip, and that any reader of gzip understands it."""

import asyncio
import gzip
import struct
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.web.compression import accepts_gzip, compressed_stream


@pytest.mark.parametrize(
    ("accepted", "is_sent"),
    [
        ((), False),
        (("",), False),
        (("gzip",), True),
        (("gzip, deflate, br",), True),
        (("br", "GZIP;q=0.5"), True),
        (("gzip ; q=1.0",), True),
        (("gzip;q=0",), False),
        (("gzip;q=0.000, *",), False),
        (("*",), True),
        (("*;q=0",), False),
        (("identity",), False),
        (("gzip;",), True),
        (("x-gzip-like",), False),
    ],
)
def test_gzip_is_sent_to_those_who_accept_it(accepted: tuple[str, ...], is_sent: bool) -> None:
    assert accepts_gzip(accepted) == is_sent


@given(st.lists(st.binary(max_size=2000), max_size=6))
def test_parts_can_be_read_as_they_come_and_make_one_file_of_gzip(parts: list[bytes]) -> None:
    async def given_parts() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def taken() -> list[bytes]:
        return [each async for each in compressed_stream(given_parts())]

    head, *packed = asyncio.run(taken())
    decoder = zlib.decompressobj(zlib.MAX_WBITS + 16)
    assert decoder.decompress(head) == b""
    assert [decoder.decompress(each) for each in packed] == parts
    whole = b"".join(parts)
    end = b"\x03\x00" + struct.pack("<II", zlib.crc32(whole), len(whole))
    assert gzip.decompress(head + b"".join(packed) + end) == whole
