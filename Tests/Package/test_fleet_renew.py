"""A workstation's certificate renews itself while the workstation is on the list: in containers of each release with
systemd, Debian's etcd and stunnel."""

import pytest

from debian_machine import RIGHT
from few import Few
from fleet_machines import OURS, SERVERS

pytestmark = pytest.mark.on_request

CERTIFICATE = "etc/stunnel/workstation.pem"
RENEW = "systemctl start passcode-fleet-renew"


@pytest.fixture(scope="module")
def few(release, deb, fleet_debs):
    made = Few(release, [deb, *fleet_debs])
    made.run("apt-get install -q -y passcode-verifier")
    made.create()
    made.run("passcode server enroll alice --stdin", input=f"{RIGHT}\n")
    made.run("apt-get install -q -y passcode-fleet", "ws1")
    made.join(made.token())
    for name in SERVERS:  # they know the workstation
        made.run("systemctl start passcode-verifier-seen", name)
    yield made
    made.end()


def certify(few, days, name="ws1"):
    """A certificate for ws1's key that ends that soon, as if time had passed."""
    few.path("root/public").write_text(few.run("openssl pkey -in /etc/stunnel/workstation.key -pubout", "ws1"))
    few.path("root/extensions").write_text("extendedKeyUsage=clientAuth\n")
    return few.run(
        f"openssl x509 -new -force_pubkey /root/public -subj /CN={name} -days {days} -extfile /root/extensions"
        " -CA /etc/stunnel/workstations.pem -CAkey /etc/passcode/issuer/key"
    )


def put(few, days):
    few.path(CERTIFICATE, "ws1").write_text(certify(few, days))


def lasts(few, days):
    return few.run(f"openssl x509 -in /{CERTIFICATE} -noout -checkend $(({days} * 86400))", "ws1", None) == "Certificate will not expire\n"


def test_each_day_a_timer_looks(few):
    assert few.run("systemctl is-active passcode-fleet-renew.timer", "ws1") == "active\n"
    before = few.path(CERTIFICATE, "ws1").read_text()
    few.run(RENEW, "ws1")
    assert few.path(CERTIFICATE, "ws1").read_text() == before


def test_a_certificate_that_ends_soon_is_told_and_renewed(few):
    put(few, 20)
    assert "expires on" in few.run("passcode check; true", "ws1")
    few.run(RENEW, "ws1")
    assert lasts(few, 89) and not lasts(few, 91)
    assert "expires on" not in few.run("passcode check; true", "ws1")
    few.hosts["ws1"].wait("passcode status alice >/dev/null")
    few.hosts["ws1"].log_in("alice", (OURS, RIGHT))


def test_the_issuer_s_own_authority_is_renewed(few):
    """By the page. The workstations' certificates stay valid, and can be renewed."""
    before = few.path("etc/stunnel/workstations.pem").read_text()
    few.follow("8.5")
    text = few.path("etc/stunnel/workstations.pem").read_text()
    assert text != before
    for name in SERVERS:
        few.path("etc/stunnel/workstations.pem", name).write_text(text)
        few.run("systemctl restart passcode-verifier-stunnel", name)
    assert "verifier-certificates" not in few.run("passcode check --quiet; true")
    few.hosts["ws1"].wait("passcode status alice >/dev/null")
    put(few, 20)
    few.run(RENEW, "ws1")
    assert lasts(few, 89)
    assert r"certificate renewed server=server" in few.run("journalctl -o cat -t passcode", "ws1")
    assert "CN=ws1" in few.run("openssl verify -CAfile /etc/stunnel/workstations.pem /dev/stdin && echo CN=ws1", input=few.path(CERTIFICATE, "ws1").read_text())


def test_any_server_will_do(few):
    put(few, 20)
    few.hosts["server1"].cut()
    few.run(RENEW, "ws1")
    assert lasts(few, 89)
    few.hosts["server1"].start()
    few.hosts["server1"].wait("systemctl start passcode-verifier-seen")


def renewed(few, certificate, key="/etc/stunnel/workstation.key"):
    """What a server's issuer answers to a request with this certificate and this key."""
    few.path("root/certificate", "ws1").write_text(certificate)
    few.path("root/ask", "ws1").write_text(f"""
printf '%s\\n' foreground=yes pid= syslog=no client=yes connect=server2:7470 sni=renew cert=/{CERTIFICATE} \\
  key=/etc/stunnel/workstation.key >/root/tunnel
{{ echo passcode-renew 1; openssl req -new -key {key} -subj /CN=ws1; cat /root/certificate; sleep 2; }} |
  timeout 20 stunnel4 /root/tunnel 2>/dev/null
""")
    return "BEGIN CERTIFICATE-" in few.run("bash /root/ask", "ws1", None)


def test_nobody_else_s(few):
    """Neither for another key, nor an authority's other name, nor by a certificate of another authority."""
    own = few.path(CERTIFICATE, "ws1").read_text()
    assert renewed(few, own)
    few.run("openssl ecparam -name prime256v1 -genkey -noout -out /root/other.key", "ws1")
    assert not renewed(few, own, "/root/other.key")
    assert not renewed(few, certify(few, 20, "ws9"))
    few.run("openssl req -x509 -new -key /etc/stunnel/workstation.key -subj /CN=ws1 -out /root/own.pem", "ws1")
    assert not renewed(few, few.path("root/own.pem", "ws1").read_text())


def test_not_when_it_has_ended_or_is_off_the_list(few):
    own = few.path(CERTIFICATE, "ws1").read_text()
    assert not renewed(few, certify(few, 0))
    put(few, 20)
    for name in SERVERS:
        few.run("sed -i '/^CN=ws1$/d' /etc/passcode/workstations", name)
    started = "journalctl -o cat -u 'passcode-verifier-renew@*'"
    before = few.run(started, "server2")
    few.run(RENEW, "ws1", 1)
    assert "still on their lists" in few.run("journalctl -u passcode-fleet-renew", "ws1")
    assert not lasts(few, 30) and not renewed(few, own)
    # The relay has turned it away.
    assert few.run(started, "server2") == before != ""
    assert r"not on the list of workstations workstation=CN\x3dws1" in few.run("journalctl -o cat -t passcode", "server2")
