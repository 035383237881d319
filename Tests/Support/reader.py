"""A fingerprint reader: Debian's fprintd with libfprint's virtual reader, on a system bus of its own with the real
dbus-daemon and polkitd. All in the tests' mount namespace, whose /run is empty."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import dbus
import dbus.bus
from process import accepts, make_urgent, wait_for

SERVICE = "net.reactivated.Fprint"
DEVICE = "/net/reactivated/Fprint/Device/0"
INTERFACE = "net.reactivated.Fprint.Device"
BUS = pathlib.Path("/run/dbus")
STATE = pathlib.Path("/run/reader")
PRINTS = pathlib.Path("/var/lib/fprint")
STARTED_BY = pathlib.Path("/usr/share/dbus-1/system-services/net.reactivated.Fprint.service")
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

VIRTUAL = f"""#!/bin/sh
export FP_VIRTUAL_DEVICE={STATE}/socket STATE_DIRECTORY={PRINTS} RUNTIME_DIRECTORY={STATE}
exec /usr/libexec/fprintd --no-timeout 2>>{STATE}/log
"""
NO_READER = VIRTUAL.replace(f"FP_VIRTUAL_DEVICE={STATE}/socket ", "")
BROKEN = "#!/bin/sh\nexit 1\n"


def slow(milliseconds):
    """A reader that needs so long from its claim until it can be used."""
    library = STATE / "slow_reader.so"
    source = pathlib.Path(__file__).with_name("slow_reader.c")
    command = ["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", library, source, "-ldl"]
    subprocess.run(command, check=True)
    return VIRTUAL.replace("export ", f"export LD_PRELOAD={library} SLOW_READER={milliseconds} ")


def call(*arguments):
    """A call on the bus by a connection that ends with it; its answer, None for an error."""
    command = ["busctl", "--system", "call", *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def driver(member, *arguments):
    return call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, *arguments)


def connect():
    """A connection of this process."""
    bus = dbus.bus.BusConnection(f"unix:path={BUS}/system_bus_socket")
    bus.set_exit_on_disconnect(False)
    return bus


def connections():
    """{process: unique name} of what is on the bus."""
    bus = connect()
    found = {}
    for name in bus.list_names():
        if name.startswith(":") and name != bus.get_unique_name():
            try:
                found[int(bus.call_blocking(
                    "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "GetConnectionUnixProcessID", "s", (name,)
                ))] = str(name)  # fmt: skip
            except dbus.DBusException:
                pass  # it has gone since
    bus.close()
    return found


class Reader:
    """The bus, and fprintd, which the bus starts when somebody asks for it."""

    def __init__(self):
        STATE.mkdir()
        PRINTS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0700", "tmpfs", PRINTS], check=True)
        description = STATE / "service"
        description.write_text(f"[D-BUS Service]\nName={SERVICE}\nExec={STATE}/fprintd\nUser=root\n")
        subprocess.run(["mount", "--bind", description, STARTED_BY], check=True)
        # polkitd looks there for the sessions of systemd-logind.
        pathlib.Path("/run/systemd/seats").mkdir(parents=True, exist_ok=True)
        self.bus = None
        self.choose(VIRTUAL)
        self.start_bus()

    def choose(self, program):
        """What the bus starts as fprintd from now on; the one that runs ends."""
        self.stop()
        (STATE / "fprintd").write_text(program)
        (STATE / "fprintd").chmod(0o755)

    def start_bus(self):
        BUS.mkdir(exist_ok=True)
        self.bus = subprocess.Popen(["dbus-daemon", "--system", "--nofork", "--nopidfile"], preexec_fn=make_urgent, **QUIET)
        wait_for(lambda: accepts(BUS / "system_bus_socket"))

    def stop_bus(self):
        self.stop()
        self.bus.kill()
        self.bus.wait()
        shutil.rmtree(BUS, ignore_errors=True)  # a child of the tests may have stopped it
        self.bus = None

    def start(self):
        """Waits until the reader can be used."""
        assert driver("StartServiceByName", "su", SERVICE, "0"), (STATE / "log").read_text()
        wait_for(self.is_free)

    def start_without_reader(self):
        assert driver("StartServiceByName", "su", SERVICE, "0"), (STATE / "log").read_text()
        wait_for(self.process)

    def process(self):
        """fprintd's; None: it doesn't run."""
        answer = self.bus and driver("GetConnectionUnixProcessID", "s", SERVICE)
        return int(answer.split()[1]) if answer else None

    def stop(self, number=signal.SIGKILL):
        process = self.process()
        if process:
            os.kill(process, number)
            wait_for(lambda: self.process() != process)

    def pause(self):
        """fprintd goes on living and answers nothing."""
        os.kill(self.process(), signal.SIGSTOP)

    def restore(self):
        """All is there again, whatever was taken away."""
        if self.bus:
            self.stop_bus()
        self.start_bus()
        self.choose(VIRTUAL)
        self.start()

    def close(self):
        self.stop_bus()
        for place in (STARTED_BY, PRINTS):
            subprocess.run(["umount", "--lazy", place], check=True)
        shutil.rmtree(STATE)

    def is_free(self):
        """Whether the reader can be claimed; it is released at once."""
        return self.refusal() is None

    def is_claimed(self):
        """By somebody else."""
        return self.refusal() == "net.reactivated.Fprint.Error.AlreadyInUse"

    def refusal(self):
        """The error that claiming it comes to; None: none."""
        bus = connect()
        try:
            device = dbus.Interface(bus.get_object(SERVICE, DEVICE, introspect=False), INTERFACE)
            device.Claim("alice")
            device.Release()
        except dbus.DBusException as error:
            return error.get_dbus_name()
        finally:
            bus.close()
        return None

    def waits(self):
        """For a touch. Unlike a claim, to ask takes the reader from nobody."""
        bus = connect()
        try:
            device = dbus.Interface(bus.get_object(SERVICE, DEVICE, introspect=False), "org.freedesktop.DBus.Properties")
            return bool(device.Get(INTERFACE, "finger-needed"))
        except dbus.DBusException:
            return False
        finally:
            bus.close()

    def tell(self, command):
        """One command to the virtual reader."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(STATE / "socket"))
            connection.sendall(command.encode())
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass

    def touch(self, finger):
        self.tell(f"SCAN {finger}")

    def enroll(self, name, finger="right-index-finger"):
        """Enrols the print `NAME-finger`."""
        command = ["fprintd-enroll", "-f", finger, name]
        program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = ""
        for line in program.stdout:
            said += line
            if "Enrolling" in line or "enroll-stage-passed" in line:
                time.sleep(0.1)  # the reader forgets a touch that comes before it waits
                self.touch(f"{name}-finger")
        assert program.wait() == 0 and "enroll-completed" in said, said


def forge(sender, destination, result="verify-match", path=DEVICE, interface=INTERFACE):
    """A VerifyStatus from a connection of the sender's; to everybody where there is no destination."""
    command = ["setpriv", f"--reuid={sender}", "--clear-groups", "dbus-send", "--system", "--type=signal"]
    if destination:
        command.append(f"--dest={destination}")
    command += [path, f"{interface}.VerifyStatus", f"string:{result}", "boolean:true"]
    subprocess.run(command, check=True, **QUIET)
