"""A workstation that joins a fleet with a token, and everybody who has none: in containers of each release with systemd,
Debian's etcd and stunnel."""

import concurrent.futures
import contextlib
import hashlib
import re
import time

import pytest

from debian_machine import RIGHT
from few import ETCD, Few
from fleet_machines import OURS, SERVERS
from process import wait_for

pytestmark = pytest.mark.on_request

UNITS = "passcode-verifier.socket", "passcode-verifier-seen.timer", "passcode-verifier-stunnel.service", "etcd.service"


@pytest.fixture(scope="module")
def few(release, deb, fleet_debs):
    made = Few(release, [deb, *fleet_debs])
    yield made
    made.end()


def test_from_fresh_servers_to_a_login(few, capsys):
    """By the page's short way, word for word."""
    begin = time.monotonic()
    few.follow("0.1", "0.2", "0.3", "0.5")
    few.hosts["ws1"].wait("passcode status alice >/dev/null")
    few.hosts["ws1"].log_in("alice", (OURS, RIGHT))
    seconds = time.monotonic() - begin
    with capsys.disabled():
        print(f"\nfrom fresh servers to a login: {seconds:.0f} s")
    assert seconds < 180 and few.commands == 5
    for name in SERVERS:
        assert few.run(f"systemctl is-active {' '.join(UNITS)}", name).split() == ["active"] * len(UNITS)
        assert few.run("systemctl --failed --no-legend", name) == ""


def test_another_workstation_is_invited_by_the_page(few):
    few.follow("0.4")
    few.run("grep -q ^ws2: /run/passcode-join/secrets")
    few.run("systemctl stop passcode-verifier-join")


def test_the_logs_say_who_did_what(few):
    own = "workstation=CN\\x3dws1"
    said = few.run("journalctl -o cat -t passcode")
    for line in ("server set up fleet=ward-7 from=server1 by_uid=0", f"workstation invited {own} by_uid=0", f"certificate issued {own}"):
        assert f"passcode-verifier: {line}" in said, line
    assert f"passcode-fleet: joined {own} by_uid=0" in few.run("journalctl -o cat -t passcode", "ws1")
    for name in SERVERS[1:]:
        assert "server set up fleet=ward-7 from=server1" in few.run("journalctl -o cat -t passcode", name)


def ask(few, request, token, identity="ws2", server="server1"):
    """What the issuer answers to these lines, by stunnel with a token's key; as passcode-fleet-join does."""
    few.path("root/request", "ws1").write_text("".join(f"{line}\n" for line in request))
    plain = token.replace("-", "")
    few.path("root/ask", "ws1").write_text(f"""
key=$(printf 'passcode channel\\n{plain}\\n' | sha256sum | head -c 64)
echo "{identity}:$key" >/root/secrets && chmod 600 /root/secrets
printf '%s\\n' foreground=yes pid= syslog=no client=yes connect={server}:7471 PSKsecrets=/root/secrets PSKidentity={identity} \\
  ciphers=ECDHE-PSK-CHACHA20-POLY1305 sslVersionMax=TLSv1.2 >/root/tunnel
(cat /root/request; sleep 2) | timeout 20 stunnel4 /root/tunnel 2>/root/log
""")
    return few.run("bash /root/ask", "ws1", None)


def request(few, kind="ec -pkeyopt ec_paramgen_curve:prime256v1", subject="/CN=ws2"):
    made = few.run(f"openssl req -newkey {kind} -nodes -subj {subject} -keyout /root/k 2>/dev/null", "ws1")
    return made.strip().splitlines()


def lines(token, few, name="ws2", **how):
    return ["passcode-join 1", name, token.replace("-", ""), *request(few, **how)]


def is_certificate(text):
    return "BEGIN CERTIFICATE-" in text


def test_a_wrong_token_opens_nothing(few):
    token = few.token("ws2")
    wrong = token.translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
    # Neither the connection, nor, with another workstation's connection, its certificate.
    assert not is_certificate(ask(few, lines(wrong, few), wrong))
    assert not is_certificate(ask(few, lines(wrong, few), token))
    assert not is_certificate(ask(few, lines(token, few, name="ws1"), token))
    for name in ("ws2/x", "WS2", "-x", "ws2\tx", "$(reboot)", ""):
        assert not is_certificate(ask(few, lines(token, few, name=name), token)), name


def test_a_request_that_is_none_spends_no_invitation(few):
    token = few.token("ws2")
    good = lines(token, few)
    forged = good[:5] + [good[5][::-1]] + good[6:]
    huge = good[:4] + ["A" * 100] * 60 + good[-1:]
    for bad in (forged, huge, good[:-1], lines(token, few, kind="rsa:2048")):
        assert not is_certificate(ask(few, bad, token))
    answer = ask(few, lines(token, few, subject="/CN=server1.example.org/O=x"), token)
    few.path("root/answer", "ws1").write_text(answer)
    told = few.run("openssl x509 -in /root/answer -noout -subject -ext extendedKeyUsage,basicConstraints,subjectAltName", "ws1")
    assert re.search(r"^subject=CN ?= ?ws2$", told, re.MULTILINE) and "DNS:ws2" in told
    assert "CA:FALSE" in told and "TLS Web Client Authentication" in told and "Server" not in told
    # And once is all. The log names the workstation, and has no token.
    assert not is_certificate(ask(few, good, token))
    said = few.run("journalctl --no-pager")
    assert "CN\\x3dws2" in said and token not in said and token.replace("-", "") not in said


def test_the_port_is_open_only_while_an_invitation_is(few):
    closed = "! ss -Hltn | grep -q :7471"
    few.hosts["server1"].wait(closed)
    few.token("ws3")
    few.run("ss -Hltn | grep -q :7471")
    few.run("systemctl stop passcode-verifier-join")
    few.run(closed)
    assert few.run("ls /run/passcode-join 2>/dev/null; true") == ""


SHORT = "/run/systemd/system/passcode-verifier-join.service.d"


def test_the_port_closes_by_itself(few):
    """After its ten minutes, which are ten seconds here. With the next invitation it is open, but not for the old token."""
    few.run(f"""
mkdir -p {SHORT}
sed -n 's/^ExecStart=\\(.*\\) 600 /[Service]\\nExecStart=\\nExecStart=\\1 10 /p' \\
  /lib/systemd/system/passcode-verifier-join.service >{SHORT}/short.conf
systemctl daemon-reload
""")
    token = few.token("ws8")
    few.run("ss -Hltn | grep -q :7471 && grep -q ^ws8: /run/passcode-join/secrets")
    few.hosts["server1"].wait("! systemctl -q is-active passcode-verifier-join")
    few.run("! ss -Hltn | grep -q :7471")
    assert few.run("ls -d /run/passcode-join 2>/dev/null; true") == ""
    assert few.run("systemctl show --value -p Result passcode-verifier-join") == "success\n"
    few.run(f"rm -r {SHORT} && systemctl daemon-reload")
    asked = lines(token, few, name="ws8")
    assert not is_certificate(ask(few, asked, token, identity="ws8"))
    few.token("ws9")
    assert not is_certificate(ask(few, asked, token, identity="ws8"))
    few.run("systemctl stop passcode-verifier-join")


def lease(few, name):
    """That of an invitation, as etcdctl has it in its arguments."""
    told = few.run(f"{ETCD} etcdctl get /passcode-join/invitations/{name} -w fields")
    return format(int(re.search(r'"Lease" : (\d+)', told)[1]), "x")


def digest(purpose, token):
    return hashlib.sha256(f"passcode {purpose}\n{token}\n".encode()).hexdigest()


def test_etcd_has_a_digest_of_the_token_for_ten_minutes(few):
    """And no disk has the token, nor what the connection's key comes from."""
    begin = time.monotonic()
    token = few.token("ws10")
    plain, key = token.replace("-", ""), "/passcode-join/invitations/ws10"
    invitation, channel = (digest(purpose, plain) for purpose in ("invitation", "channel"))
    assert few.run(f"{ETCD} etcdctl get {key}").split() == [key, invitation]
    told = few.run(f"{ETCD} etcdctl lease timetolive {lease(few, 'ws10')}")
    granted, left = map(int, re.search(r"granted with TTL\((\d+)s\), remaining\((\d+)s\)", told).groups())
    assert granted == 600 and 590 - (time.monotonic() - begin) <= left <= 600
    everything = few.run(f"{ETCD} etcdctl get --prefix ''")
    for name in SERVERS:
        few.hosts[name].wait(f"grep -raqF {invitation} /var/lib/etcd")
    for secret in (token, plain, channel):
        assert secret not in everything
        for name in SERVERS:
            few.run(f"! grep -raqsF {secret} /etc /root /var", name)
    assert few.run("cat /run/passcode-join/secrets") == f"ws10:{channel}\n"
    few.run("systemctl stop passcode-verifier-join")


def test_two_invitations_are_open_at_once(few):
    """Of names that are alike, whatever others make in /run/lock; and nobody else can take the lock."""
    few.run("setpriv --reuid nobody --clear-groups touch /run/lock/passcode-invite /run/lock/passcode-workstations")
    for name in ("ws-6", "ws.6"):
        few.token(name)
    assert [line.split(":")[0] for line in few.run("cat /run/passcode-join/secrets").split()] == ["ws-6", "ws.6"]
    few.run("! setpriv --reuid nobody --clear-groups cat /run/passcode-issuer.lock")
    few.run("systemctl stop passcode-verifier-join && rm /run/lock/passcode-*")


def test_a_name_that_is_listed_or_none(few):
    assert "is already on the list" in few.run("passcode server invite-workstation ws1", status=1)
    for name in ("-x", "WS4", "a/b", "'a b'", "''", "a..", "$'a\\nb'"):
        few.run(f"passcode server invite-workstation {name}", status=2)


def test_a_token_is_spent_once_on_two_servers(few):
    """The same token at both at the same time, as if it had been given to both."""
    token = few.token("ws4")
    text = few.run("cat /run/passcode-join/secrets")
    few.run("install -d -m 0700 /run/passcode-join && cat >/run/passcode-join/secrets && systemctl start passcode-verifier-join",
            "server2", input=text)  # fmt: skip
    few.hosts["server2"].wait("ss -Hltn | grep -q :7471")
    asked = lines(token, few, name="ws4")
    few.path("root/request4", "ws1").write_text("".join(f"{line}\n" for line in asked))
    key = text.split(":")[1].strip()
    few.path("root/race", "ws1").write_text(f"""
echo "ws4:{key}" >/root/secrets4 && chmod 600 /root/secrets4
for number in 1 2 1 2 1 2; do
  printf '%s\\n' foreground=yes pid= syslog=no client=yes connect=server$number:7471 PSKsecrets=/root/secrets4 PSKidentity=ws4 \\
    ciphers=ECDHE-PSK-CHACHA20-POLY1305 sslVersionMax=TLSv1.2 >/root/tunnel$((++count))
  (cat /root/request4; sleep 5) | timeout 20 stunnel4 /root/tunnel$count 2>/dev/null >/root/got$count &
done
wait
grep -c 'server server1' /root/got*
""")
    counts = re.findall(r":(\d)$", few.run("bash /root/race", "ws1", None), re.MULTILINE)
    assert sorted(counts) == ["0"] * 5 + ["1"]


SLOW = """
printf '%s\\n' foreground=yes pid= syslog=no client=yes connect=server1:7470 sni=renew cert=/etc/stunnel/workstation.pem \\
  key=/etc/stunnel/workstation.key >/root/slow
for number in $(seq 12); do
  while :; do (echo passcode-renew 1; for line in $(seq 10); do echo; sleep 2; done) | timeout 20 stunnel4 /root/slow; done >/dev/null 2>&1 &
done
wait
"""


def test_renewals_do_not_hold_up_a_workstation_that_joins(few):
    """One that is on the list keeps all places for renewals."""
    few.path("root/keep", "ws1").write_text(SLOW)
    few.run("systemd-run -q --unit=keep bash /root/keep", "ws1")
    few.hosts["server1"].wait("[ $(systemctl list-units --plain --no-legend 'passcode-verifier-renew@*' | wc -l) = 4 ]")
    token = few.token("ws7")
    assert is_certificate(ask(few, lines(token, few, name="ws7"), token, identity="ws7"))
    few.run("systemctl stop keep", "ws1", None)


@contextlib.contextmanager
def reads(few, folder, text):
    """server1's systemd, meanwhile."""
    path = f"/run/systemd/{folder}/test.conf"
    few.run(f"mkdir -p /run/systemd/{folder} && cat >{path} && systemctl daemon-reload", input=text)
    try:
        yield
    finally:
        few.run(f"rm {path} && systemctl daemon-reload && systemctl stop passcode-verifier-join")


@contextlib.contextmanager
def leaves(few, name):
    """A workstation, meanwhile, so that it can join."""
    few.run("mkdir /root/.kept && mv /etc/stunnel/* /root/.kept", name)
    try:
        yield
    finally:
        few.run("rm -rf /etc/stunnel/* && mv /root/.kept/* /etc/stunnel && rmdir /root/.kept && systemctl restart passcode-fleet", name)


def test_many_invitations_in_a_row_leave_the_port_open(few):
    """systemd refuses a unit's sixth start within ten seconds, if the unit doesn't say otherwise: here within ten minutes, so that
    it doesn't depend on how fast this machine is."""
    with reads(few, "system.conf.d", "[Manager]\nDefaultStartLimitIntervalSec=600\n"):
        limit = few.run("systemctl show --value -p StartLimitIntervalUSec -p StartLimitBurst passcode-verifier-stunnel")
        assert limit.split() == ["10min", "5"]
        tokens = {name: few.token(name) for name in (f"ws2{number}" for number in range(8))}
        few.run("ss -Hltn | grep -q :7471")
        for name in ("ws27", "ws20"):
            assert is_certificate(ask(few, lines(tokens[name], few, name=name), tokens[name], identity=name)), name


SLOW_ISSUER = """[Service]
ExecStart=
ExecStart=sh -c "while [ -e /run/wait ]; do sleep 0.1; done; exec /usr/libexec/passcode-verifier-issue join"
RuntimeMaxSec=60
"""


def test_the_next_invitation_does_not_cut_a_join_under_way(few):
    """Which waits at the issuer, here. Its invitation would be spent, and its certificate lost."""
    with reads(few, "system/passcode-verifier-issue@.service.d", SLOW_ISSUER), leaves(few, "ws1"):
        few.run("touch /run/wait")
        first = few.token("ws11")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            joined = pool.submit(few.join, first, more="ws11")
            few.hosts["server1"].wait("systemctl -q is-active 'passcode-verifier-issue@*'")
            invited = pool.submit(few.token, "ws12")
            # It waits for the answer; or it doesn't, and is over.
            wait_for(lambda: invited.done() or few.run("pgrep -fx 'sleep 0.2'", status=None))
            few.run("rm /run/wait")
            assert "ws11 is now a workstation" in joined.result()
        own = few.run("openssl x509 -in /etc/stunnel/workstation.pem -noout -subject -nameopt RFC2253", "ws1")
        assert own == "subject=CN=ws11\n"
        second = invited.result()
        assert is_certificate(ask(few, lines(second, few, name="ws12"), second, identity="ws12"))


def test_an_invitation_that_expired(few):
    token = few.token("ws5")
    few.run(f"{ETCD} etcdctl lease revoke {lease(few, 'ws5')}")
    assert not is_certificate(ask(few, lines(token, few, name="ws5"), token, identity="ws5"))


def test_nobody_in_between_can_pose_as_the_server(few):
    """With a certificate of its own, and with another key: passcode-fleet-join tells it nothing."""
    few.run("systemctl stop passcode-verifier-join")
    few.run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server1.example.org -keyout /root/.false.key"
            " -out /root/.false.pem 2>/dev/null; systemd-run -q --unit=false sh -c 'openssl s_server -accept 7471 -cert /root/.false.pem"
            " -key /root/.false.key >/root/.told 2>&1'")  # fmt: skip
    few.hosts["server1"].wait("ss -Hltn | grep -q :7471")
    few.run("mkdir /root/.kept && mv /etc/stunnel/* /root/.kept", "ws1")
    token = "0123-4567-89ab-cdef-0123-4567-89ab-cdef"
    assert "refused the token" in few.join(token, status=1)
    assert not re.search("0123-?4567", few.run("cat /root/.told"))
    few.run("systemctl stop false", status=None)
    few.run("mv /root/.kept/* /etc/stunnel; rmdir /root/.kept", "ws1")


def test_the_issuer_s_certificates_are_worth_nothing_elsewhere(few):
    """Neither to workstations, as a server's, nor to etcd; and its key and its account's password are its own."""
    few.path("root/.w.pem").write_text(few.path("etc/stunnel/workstation.pem", "ws1").read_text())
    few.run("openssl verify -CAfile /etc/stunnel/workstations.pem -purpose sslclient /root/.w.pem")
    few.run("! openssl verify -CAfile /etc/stunnel/workstations.pem -purpose sslserver /root/.w.pem")
    few.run("! openssl verify -CAfile /etc/etcd/peers.pem /root/.w.pem && ! openssl verify -CAfile /etc/passcode/issuer/servers.pem /root/.w.pem")
    few.run("openssl x509 -in /root/.w.pem -noout -checkend $((89 * 86400)) && ! openssl x509 -in /root/.w.pem -noout -checkend $((91 * 86400))")
    for account, readable in (("_passcode", False), ("stunnel4", False), ("_passcode-issuer", True)):
        few.run(f"{'' if readable else '! '}setpriv --reuid {account} --regid {account} --clear-groups cat /etc/passcode/issuer/key >/dev/null")
    etcd = "export ETCDCTL_API=3 ETCDCTL_USER=issuer:$(cat /etc/passcode/issuer/password);"
    assert "permission denied" in few.run(f"{etcd} etcdctl get --prefix /passcode/ 2>&1; true")


def test_every_server_lists_the_workstation_once(few):
    """Within a minute; and one that is taken off the list stays off."""
    for name in SERVERS:
        few.run("systemctl start passcode-verifier-seen", name)
        assert few.path("etc/passcode/workstations", name).read_text().count("CN=ws1\n") == 1
    found = few.run("passcode check --quiet; true", "server2")
    assert "different list" not in found, found
    few.run("sed -i '/^CN=ws2$/d' /etc/passcode/workstations && systemctl start passcode-verifier-seen")
    assert "CN=ws2\n" not in few.path("etc/passcode/workstations").read_text()


def test_a_name_that_was_taken_off_the_list_is_not_invited_by_accident(few):
    assert "CN=ws2\n" not in few.path("etc/passcode/workstations").read_text()
    again = "passcode server invite-workstation ws2"
    for answer in ("", "n\n"):
        said = few.run(f"{again} 2>&1", status=1, input=answer)
        assert "has been taken off the list" in said and "ws2 was not invited" in said
    assert "has been taken off" in few.run(f"{again} 2>&1", input="y\n")
    assert "has been taken off" not in few.run(f"{again} --again 2>&1")
