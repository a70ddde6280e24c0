"""Files that list accounts: each line is an account, or is rejected with a reason."""

from io import BytesIO

import pytest

from feedkeep.formats.account_list import MAX_LINE_BYTES, read_accounts
from feedkeep.model.errors import AccountError
from feedkeep.service.accounts import ImportedAccount

HASH = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$aGFzaGhhc2hoYXNoaGFzaA"


def read(text):
    data = text.encode() if isinstance(text, str) else text
    return [
        (number, found if isinstance(found, ImportedAccount) else str(found))
        for number, found in read_accounts(BytesIO(data))
    ]


def test_csv_is_read_by_the_names_in_its_header():
    text = f'\ufeffIs_Admin, name ,password_hash,password\r\nyes,Zoë,"{HASH}",\r\n\n,Bob,,a "b",c\n'
    found = read(text.replace('a "b",c', '"a ""b"",c"'))
    assert found == [
        (2, ImportedAccount("Zoë", None, HASH, True)),
        (4, ImportedAccount("Bob", 'a "b",c', None, False)),
    ]


def test_json_is_read_line_by_line():
    text = f'{{"name":"Zoë","password_hash":"{HASH}"}}\n\n{{"name":"B","is_admin":true}}'
    assert read(text) == [
        (1, ImportedAccount("Zoë", None, HASH)),
        (3, ImportedAccount("B", None, None, True)),
    ]


@pytest.mark.parametrize("header", ["user,password", "password", "name,name", "name,mail", '"name'])
def test_a_header_that_does_not_name_the_columns_refuses_the_file(header):
    with pytest.raises(AccountError, match=r"name the columns|not valid CSV"):
        read(f"{header}\nBob\n")


CSV, JSON = "name,is_admin\n{}\nEve,1\n", '{{"name":"Ada"}}\n{}\n{{"name":"Eve","is_admin":true}}'


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        (CSV, "Bob", "There are 1 columns, and the header has 2"),
        (CSV, "Bob,maybe", "is_admin has to be"),
        (CSV, '"Bob,1', "not valid CSV"),
        (CSV, "x" * MAX_LINE_BYTES + ",1", "16,384 bytes"),
        (CSV, "x" * 10 * MAX_LINE_BYTES + ",1", "16,384 bytes"),
        (JSON, '{"name":"Bob"', "not valid JSON"),
        (JSON, '{"name":1}', "not valid JSON"),
        (JSON, "{}", "not valid JSON"),
        (JSON, '{"name":"Bob","mail":"x"}', "not valid JSON"),
        (JSON, '{"name":"Bob","password":"\\ud800"}', "not valid JSON"),
        (JSON, f'{{"name":{"[" * 5_000}', "not valid JSON"),
    ],
    ids=range(11),
)
def test_line_that_cannot_be_read_is_refused_and_the_next_one_is_read(text, line, reason):
    *_, (number, why), good = read(text.format(line))
    assert number == 2
    assert reason in why
    assert good == (3, ImportedAccount("Eve", is_admin=True))


def test_what_is_no_text_is_refused():
    assert read(b"name\n\xff\xfe\nEve\n")[0] == (2, "A line has at most 16,384 bytes of UTF-8.")


def test_a_file_that_never_ends_a_line_is_not_held_in_memory():
    class Endless(BytesIO):
        asked = 0

        def readline(self, size=-1, /):
            assert 0 < size <= MAX_LINE_BYTES + 1
            self.asked += 1
            return b"x" * size if self.asked < 1_000 else b""

    assert [number for number, _ in read_accounts(Endless())] == [1]
