"""Commands for administrators: roles, invitations, links to set a password, many accounts."""

import json
import re

from command_line import refusal

from feedkeep.rules.credentials import PasswordCredential

HASH = "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$8Tf44YakA6Z5zNBgblq13Nr+Q8FkCFWsjG4z6b1j7rM"


def rows(printed):
    """Return the rows of a table by their first cell."""
    return {line.split()[0]: re.split(r"\s{2,}", line.strip()) for line in printed.splitlines()[1:]}


def test_an_account_becomes_administrator_and_the_last_one_stays(offline):
    offline.must("account", "create", "ada", "--admin")
    offline.must("account", "create", "bob")
    listed = rows(offline.must("account", "list"))
    assert (listed["ada"][3], listed["bob"][3]) == ("administrator", "-")
    for command in ("admin ada --remove", "disable ada", "delete ada --yes"):
        assert "make another account" in refusal(offline, "account", *command.split())
    assert offline.must("account", "admin", "Bob") == "Bob is an administrator.\n"
    told = offline.must("account", "admin", "ada", "--remove")
    assert told == "ada is no longer an administrator.\n"
    assert rows(offline.must("account", "list"))["bob"][3] == "administrator"
    offline.must("account", "delete", "ada", "--yes")


def test_an_invitation_is_printed_alone_and_works_once(offline):
    offline.must("account", "create", "bob")
    assert "registration" in refusal(offline, "account", "invite", "--by", "bob")
    offline.environment["FEEDKEEP_REGISTRATION"] = "invited"
    assert "and there is none" in refusal(offline, "account", "invite")
    assert "bob is not an administrator" in refusal(offline, "account", "invite", "--by", "bob")
    offline.must("account", "admin", "bob")
    local = offline.run("account", "invite", "--label", "aunt Emma")
    assert re.fullmatch(r"http://127\.0\.0\.1:8080/sign-up/fi_[\w-]{44}\n", local.stdout)
    assert "opens only on this machine. Set FEEDKEEP_PUBLIC_URL" in local.stderr
    offline.environment["FEEDKEEP_PUBLIC_URL"] = "https://feeds.example/kept/"
    public = offline.run("account", "invite", "--by", "BOB")
    assert public.stdout.startswith("https://feeds.example/kept/sign-up/fi_")
    assert public.stderr == ""
    found = offline.use(lambda service: service.invitations.all())
    assert [(by.name, one.label) for by, one in found] == [("bob", "aunt Emma"), ("bob", "")]


def test_a_reset_link_is_printed_alone_and_sets_a_password(offline):
    offline.must("account", "create", "bob")
    assert "no account" in refusal(offline, "account", "reset-link", "eve")
    link = offline.must("account", "reset-link", "bob").strip()
    assert link.startswith("http://127.0.0.1:8080/reset/fr_")
    text = link.rpartition("/")[2]
    offline.use(lambda service: service.recovery.reset(text, "battery staple"))
    assert rows(offline.must("account", "list"))["bob"][2] == "yes"
    offline.must("account", "disable", "bob")
    assert "bob is disabled" in refusal(offline, "account", "reset-link", "bob")


def test_a_list_shows_what_tokens_and_sessions_may_do_and_when_they_were_used(offline):
    offline.must("account", "create", "bob", "--password-stdin", stdin="correct horse\n")
    offline.must("token", "create", "bob", "--read-only", "--label", "tablet")
    offline.must("token", "create", "bob", "--label", "phone")
    offline.use(
        lambda service: service.page_sessions.sign_in("bob", "correct horse", "", "Firefox")
    )
    with offline, offline.client("bob") as client:
        assert client.get("/subscriptions").status_code == 200
    tokens = [*rows(offline.must("token", "list", "bob")).values()]
    assert [row[2] for row in tokens] == ["read", "write", "write"]
    day = r"\d{4}-\d\d-\d\d"
    assert [bool(re.fullmatch(day, row[5])) for row in tokens] == [False, False, True]
    assert [row[5] for row in tokens[:2]] == ["-", "-"]
    (session,) = rows(offline.must("session", "list", "bob")).values()
    assert re.fullmatch(day, session[5])
    assert session[6] == "browser: Firefox"


def test_many_accounts_are_created_from_csv_and_each_refused_line_is_told(offline, tmp_path):
    offline.must("migrate")
    file = tmp_path / "accounts.csv"
    lines = [
        "name,password,password_hash,is_admin",
        f'ada,,"{HASH}",yes',
        "bob,correct horse,,",
        "eve,,,",
        "BOB,,,",
        "no name,,,",
        f'both,correct horse,"{HASH}",',
        "weak,short,,",
        "hashed,,$2b$12$abc,",
        f'dear,,"{HASH.replace("m=8", "m=9999999")}",',
        f"unquoted,,{HASH},",
        "too,few",
    ]
    file.write_text("\n".join(lines))
    done = offline.run("account", "import", str(file))
    assert done.returncode == 1, done.stderr
    *refused, told = done.stdout.splitlines()
    assert told == "3 created, 8 refused."
    reasons = dict(line.removeprefix("line ").split(": ", 1) for line in refused)
    wanted = {
        "5": "There is an account BOB already",
        "6": "start with a letter",
        "7": "not both",
        "8": "at least 8 characters",
        "9": "argon2id",
        "10": "too much memory or time",
        "11": "between quotation marks",
        "12": "There are 2 columns",
    }
    assert [number for number in wanted if wanted[number] not in reasons[number]] == []
    listed = rows(offline.must("account", "list"))
    assert {name: row[2:4] for name, row in listed.items()} == {
        "ada": ["yes", "administrator"],
        "bob": ["yes", "-"],
        "eve": ["no", "-"],
    }
    for name, password in (("ada", "password"), ("bob", "correct horse")):
        shown = PasswordCredential(name, password)
        offline.use(lambda service, shown=shown: service.authentication.admit(shown, ""))


def test_more_accounts_than_fit_in_one_commit_are_created_from_standard_input(offline):
    offline.must("migrate")
    people = [{"name": f"person{number}", "password_hash": HASH} for number in range(250)]
    lines = "\n".join(map(json.dumps, [*people, people[0]]))
    done = offline.run("account", "import", "-", stdin=lines)
    assert done.stdout.splitlines() == [
        "line 251: There is an account person0 already.",
        "250 created, 1 refused.",
    ]
    assert len(rows(offline.must("account", "list"))) == 250
    again = offline.run("account", "import", "-", stdin=lines)
    assert again.stdout.endswith("0 created, 251 refused.\n")


def test_accounts_are_listed_in_parts_and_the_last_line_says_how_to_go_on(offline):
    offline.must("migrate")
    head = ["NAME", "CREATED", "PASSWORD", "ROLE", "STATE"]
    assert offline.must("account", "list").split() == head
    names = [f"person{number}" for number in range(100, 400)]
    offline.must("account", "import", "-", stdin="\n".join(["name", *names, "x" * 60]))
    assert [*rows(offline.must("account", "list"))] == [*names, "x" * 60]

    def listed(*options):
        done = offline.run("account", "list", *options)
        assert done.returncode == 0
        return [*rows(done.stdout)], done.stderr

    more = "feedkeep: There are more accounts: continue with --after {}.\n"
    first = listed("--prefix", "PERSON2", "--limit", "60")
    assert first == (names[100:160], more.format("person259"))
    rest = listed("--prefix", "person2", "--limit", "40", "--after", "Person259")
    assert rest == (names[160:200], "")
    assert listed("--limit", "256") == (names[:256], more.format("person355"))
    assert listed("--prefix", "stranger") == ([], "")


def test_an_import_can_be_repeated_and_needs_a_file_with_a_header(offline, tmp_path):
    offline.must("migrate")
    offline.must("account", "import", "-", stdin="name\nanna\n")
    people = tmp_path / "people.csv"
    people.write_text("name,password\nAnna,a long new password\nben,\n\ncarla,\n")
    told = offline.must("account", "import", str(people), "--skip-existing")
    assert told == "2 created, 1 there already, 0 refused.\n"
    listed = rows(offline.must("account", "list"))
    assert listed["anna"][2] == "no"  # it stays as it was
    people.write_text("name\nanna\nno name\n")
    done = offline.run("account", "import", str(people), "--skip-existing")
    told = ["0 created, 1 there already, 1 refused."]
    assert (done.returncode, done.stdout.splitlines()[1:]) == (1, told)
    assert "Cannot read" in refusal(offline, "account", "import", str(tmp_path / "none"))
    told = refusal(offline, "account", "import", "-", stdin="alice\nbob\n")
    assert "name the columns" in told
