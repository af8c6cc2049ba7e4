"""Which member of a bond the kernel chooses, frame by frame. Runs as root of a machine of its own: see boot.sh.

Frames are made by hand and sent through AF_PACKET, so that no field is the kernel's choice but the member. What is
printed is one row per frame; `-` stands for what a frame does not have.
"""
import ipaddress, os, platform, random, socket, struct, subprocess, time

MOST = 4
SYSFS = "/sys/class/net"
POLICIES = ["layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"]
COLUMNS = ("kernel policy members source_mac destination_mac vlan tunnel source destination ports "
           "inner_source inner_destination inner_ports member")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def ip(*words):
    subprocess.run(["/bin/busybox", "ip", *words], check=True)


def network_header(source, destination, protocol, payload):
    a, b = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    if a.version == 4:
        start = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0)
        return start + a.packed + b.packed + payload
    return struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + a.packed + b.packed + payload


def ethertype(address):
    return 0x0800 if ipaddress.ip_address(address).version == 4 else 0x86DD


def tcp(ports):
    return struct.pack(">HHIIBBHHH", *ports, 1, 1, 0x50, 0x10, 1000, 0, 0) + bytes(32)


def udp(ports, payload):
    return struct.pack(">HHHH", *ports, 8 + len(payload), 0) + payload


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(":", ""))


def frame(f):
    """The bytes of a frame; a frame without ports carries a protocol that has none (253, RFC 3692)."""
    if f["tunnel"] == "-":
        payload = tcp(f["ports"]) if f["ports"] else bytes(40)
        packet = network_header(f["source"], f["destination"], 6 if f["ports"] else 253, payload)
    else:
        inner = network_header(f["inner_source"], f["inner_destination"], 6, tcp(f["inner_ports"]))
        kind = ethertype(f["inner_source"])
        if f["tunnel"] == "ipip":
            packet = network_header(f["source"], f["destination"], 4 if kind == 0x0800 else 41, inner)
        elif f["tunnel"] == "gre":
            packet = network_header(f["source"], f["destination"], 47, struct.pack(">HH", 0, kind) + inner)
        else:
            carried = bytes([8, 0, 0, 0, 0, 0, 7, 0]) + bytes(6) + bytes(5) + b"\1" + struct.pack(">H", kind) + inner
            packet = network_header(f["source"], f["destination"], 17, udp(f["ports"], carried))
    header = mac_bytes(f["destination_mac"]) + mac_bytes(f["source_mac"]) + struct.pack(">H", ethertype(f["source"]))
    return header + packet


def address(dice, version):
    if version == 4:
        return f"10.{dice.randrange(2)}.{dice.randrange(8)}.{dice.randrange(1, 255)}"
    words = [dice.randrange(1, 1 << 16) for _ in range(3)]
    return str(ipaddress.ip_address("fd00:{:x}::{:x}:{:x}".format(*words)))


def ports(dice, to):
    return (dice.randrange(32768, 61000), to)


def made(dice, version, tunnel, vlan, has_ports):
    outer = {"-": None, "vxlan": 4789}.get(tunnel)
    f = dict(tunnel=tunnel, vlan=vlan, ports=None, inner_source="-", inner_destination="-", inner_ports=None)
    for side in ("source_mac", "destination_mac"):
        f[side] = "02:" + ":".join(f"{dice.randrange(256):02x}" for _ in range(5))
    f["source"], f["destination"] = address(dice, version), address(dice, version)
    if tunnel != "-":
        inner = dice.choice([4, 6])
        f["inner_source"], f["inner_destination"] = address(dice, inner), address(dice, inner)
        f["inner_ports"] = ports(dice, 9000)
    if outer or (tunnel == "-" and has_ports):
        f["ports"] = ports(dice, outer or 9000)
    return f


def cases(dice, policy):
    kinds = [(4, "-", None, True)] * 4 + [(6, "-", None, True)] * 3 + [(4, "-", None, False), (4, "vxlan", None, True)]
    if policy.startswith("encap") or policy == "layer3+4":
        kinds += [(4, "ipip", None, True), (4, "ipip", None, True), (4, "gre", None, True), (4, "vxlan", None, True)]
    if policy in ("vlan+srcmac", "layer2+3"):
        kinds += [(4, "-", vlan, True) for vlan in (7, 7, 100)]
    return [made(dice, *kind) for kind in kinds]


def sent(members):
    return [int(open(f"{SYSFS}/dummy{i}/statistics/tx_packets").read()) for i in range(members)]


def member(raw, members, to, data):
    """Sends a frame once, and again where something else was sent meanwhile.

    `to` names device and packet type: VLAN devices of old kernels do not find the type in the frame.
    """
    for _ in range(5):
        before = sent(members)
        raw.sendto(data, to)
        moved = [after - earlier for earlier, after in zip(before, sent(members))]
        if sum(moved) == 1:
            return moved.index(1)
    raise SystemExit(f"no single member moved: {moved}")


def bond(members):
    write(f"{SYSFS}/bonding_masters", "+bond0")
    write(f"{SYSFS}/bond0/bonding/mode", "balance-xor")
    write(f"{SYSFS}/bond0/bonding/miimon", "50")
    for i in range(members):
        write(f"{SYSFS}/bond0/bonding/slaves", f"+dummy{i}")
    ip("link", "set", "bond0", "up")
    for vlan in (7, 100):
        ip("link", "add", "link", "bond0", "name", f"bond0.{vlan}", "type", "vlan", "id", str(vlan))
        ip("link", "set", f"bond0.{vlan}", "up")
    time.sleep(0.5)


def unbond():
    for vlan in (7, 100):
        ip("link", "del", f"bond0.{vlan}")
    write(f"{SYSFS}/bonding_masters", "-bond0")


def sockets(members, policy, tries=64):
    """Members that take the first packet of connections of one and the same addresses and ports."""
    write(f"{SYSFS}/bond0/bonding/xmit_hash_policy", policy)
    counts = [0] * members
    for _ in range(tries):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("10.9.0.1", 40000))
            s.setblocking(False)
            before = sent(members)
            s.connect_ex(("10.9.0.2", 9000))
            for i, (earlier, after) in enumerate(zip(before, sent(members))):
                counts[i] += after - earlier
    print("SOCKETS", platform.release(), policy, members, *counts)


def main():
    dice = random.Random(4)
    print("\nROW", COLUMNS.replace(" ", ","))
    for members in range(2, MOST + 1):
        bond(members)
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        for policy in POLICIES:
            frames = cases(dice, policy)
            try:
                write(f"{SYSFS}/bond0/bonding/xmit_hash_policy", policy)
            except OSError:
                continue  # Kernels before 5.12 do not know vlan+srcmac.
            for f in frames:
                device = f"bond0.{f['vlan']}" if f["vlan"] else "bond0"
                f["member"] = member(raw, members, (device, ethertype(f["source"])), frame(f))
                f.update(kernel=platform.release(), policy=policy, members=members, vlan=f["vlan"] or "-")
                for both in ("ports", "inner_ports"):
                    f[both] = "-" if f[both] is None else "%d>%d" % f[both]
                print("ROW", ",".join(str(f[column]) for column in COLUMNS.split()))
        if members == 2:
            ip("addr", "add", "10.9.0.1/24", "dev", "bond0")
            subprocess.run(["/bin/busybox", "arp", "-i", "bond0", "-s", "10.9.0.2", "02:00:00:00:00:02"], check=True)
            for policy in ("layer3+4", "encap3+4"):
                sockets(members, policy)
        raw.close()
        unbond()


main()
print("DONE", flush=True)
