"""Files that ask for far more memory than they have bytes: a row for each reader and kind.

BOMBS lists them: what reads the file, what is many or large in it, the arguments of the program (FILE stands for the path), its name, whether
LIMIT refuses it, and the function that writes it. What is not refused is harmless by the way its reader works, however large it is.
"""
import gzip
import json
import os
import sqlite3
import struct
import zipfile
import zlib

LIMIT = 8 << 20

BOMBS = []


def bomb(reader, kind, arguments, name, refused=True):
    def add(write):
        BOMBS.append((reader, kind, arguments.split(), name, refused, write))
        return write
    return add


def save(path, *parts):
    with open(path, "wb") as out:
        for part in parts:
            out.write(part if isinstance(part, bytes) else part.encode())


# --- the wire format of protos


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


# --- HLO text

HEAD = "HloModule m\n\nENTRY e {\n  p = f32[] parameter(0)\n"
TAIL = "  ROOT r = f32[] copy(p)\n}\n"


@bomb("HLO text", "many instructions", "verify FILE", "m.hlo")
def _(path):
    save(path, HEAD, "".join(f"  a{i} = f32[] copy(p)\n" for i in range(200_000)), TAIL)


@bomb("HLO text", "many computations", "verify FILE", "m.hlo")
def _(path):
    save(path, "HloModule m\n\n", "".join(f"c{i} {{\n  ROOT p = f32[] parameter(0)\n}}\n" for i in range(100_000)),
         "ENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")


@bomb("HLO text", "distinct shapes", "verify FILE", "m.hlo")
def _(path):
    save(path, HEAD, "".join(f"  a{i} = f32[{i}]{{0}} broadcast(p), dimensions={{}}\n" for i in range(100_000)), TAIL)


@bomb("HLO text", "one wide tuple, repeated", "verify FILE", "m.hlo")
def _(path):
    tuples = "".join(f"  t{k} = ({', '.join(['f32[]'] * 25_000 + [f'f32[{k}]'])}) parameter({k + 1})\n" for k in range(20))
    save(path, HEAD, tuples, TAIL)


@bomb("HLO text", "nested tuples", "verify FILE", "m.hlo")
def _(path):
    save(path, HEAD, "".join(f"  t{k} = {'(' * 400}f32[{k}]{')' * 400} parameter({k + 1})\n" for k in range(5_000)), TAIL)


@bomb("HLO text", "a constant without its elements", "verify FILE", "m.hlo", refused=False)
def _(path):
    save(path, HEAD, "  c = f32[4000000000]{0} constant({...})\n", TAIL)


@bomb("HLO text", "a large constant", "verify FILE", "m.hlo")
def _(path):
    save(path, HEAD, f"  c = f64[2000000]{{0}} constant({{{','.join(['0'] * 2_000_000)}}})\n", TAIL)


@bomb("HLO text", "replica groups by one number", "verify FILE", "m.hlo", refused=False)
def _(path):
    save(path, "HloModule m, replica_count=2000000000\n\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n  ROOT s = f32[] add(x, y)\n}\n\nENTRY e {\n  p = f32[] parameter(0)\n"
         "  ROOT r = f32[] all-reduce(p), replica_groups=[1000000,2000]<=[2000000000], to_apply=add\n}\n")


@bomb("HLO text", "a sharding of many devices", "verify FILE", "m.hlo", refused=False)
def _(path):
    save(path, HEAD, "  c = f32[2000000000]{0} broadcast(p), dimensions={}, sharding={devices=[2000000000]<=[2000000000]}\n", TAIL)


@bomb("HLO text", "many attributes of one instruction", "verify FILE", "m.hlo")
def _(path):
    save(path, HEAD, "  c = f32[] custom-call(p), custom_call_target=\"t\", frontend_attributes={" +
         ",".join(f'k{i}="v"' for i in range(200_000)) + "}\n", TAIL)


@bomb("HLO text", "errors", "verify FILE", "m.hlo")
def _(path):
    save(path, HEAD, "".join(f"  a{i} = f32[] copy(q{i})\n" for i in range(100_000)), TAIL)


@bomb("HLO text", "two names for many", "verify FILE", "m.hlo")
def _(path):
    save(path, "HloModule m\n\n", "".join(f"c{i} {{\n  x.0 = f32[] parameter(0)\n  ROOT x = f32[] copy(x.0)\n}}\n" for i in range(50_000)),
         "ENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")


# --- HLO protos

SCALAR = field(2, 11)


def module(*computations, entry=1):
    return field(1, "m") + field(2, "e") + b"".join(field(3, c) for c in computations) + field(6, entry)


def parameter(number, identity, shape=SCALAR):
    return field(1, f"p{identity}") + field(2, "parameter") + field(3, shape) + field(9, number) + field(35, identity)


def computation(identity, *instructions, root=1, name=None):
    return field(1, name or "e") + b"".join(field(2, i) for i in instructions) + field(5, identity) + field(6, root)


@bomb("HLO proto", "many instructions", "verify FILE", "m.hlo.pb")
def _(path):
    copies = [field(1, f"a{i}") + field(2, "copy") + field(3, SCALAR) + field(35, i) + field(36, 1) for i in range(2, 150_000)]
    save(path, module(computation(1, parameter(0, 1), *copies)))


@bomb("HLO proto", "many computations", "verify FILE", "m.hlo.pb")
def _(path):
    save(path, module(*(computation(i, parameter(0, i), root=i, name=f"c{i}") for i in range(1, 100_000))))


@bomb("HLO proto", "a literal that promises terabytes", "verify FILE", "m.hlo.pb", refused=False)
def _(path):
    shape = field(2, 11) + field(3, 1 << 38)
    constant = field(1, "c") + field(2, "constant") + field(3, shape) + field(8, field(1, shape)) + field(35, 2)
    save(path, module(computation(1, parameter(0, 1), constant)))


@bomb("HLO proto", "wide tuple shapes", "verify FILE", "m.hlo.pb")
def _(path):
    wide = field(2, 13) + field(4, SCALAR) * 225_000
    save(path, module(computation(1, *(parameter(k, k + 1, wide + field(4, field(2, 11) + field(3, k))) for k in range(4)))))


@bomb("HLO proto", "operands of one instruction", "verify FILE", "m.hlo.pb")
def _(path):
    operands = b"".join(field(36, varint(1) * 225_000) for _ in range(1))
    tuples = [field(1, f"t{i}") + field(2, "tuple") + field(3, SCALAR) + field(35, i) + operands for i in range(2, 30)]
    save(path, module(computation(1, parameter(0, 1), *tuples)))


@bomb("HLO proto", "numbers in one attribute", "verify FILE", "m.hlo.pb", refused=False)
def _(path):
    copies = [field(1, f"a{i}") + field(2, "copy") + field(3, SCALAR) + field(35, i) + field(36, 1) + field(14, b"\0" * 225_000)
              for i in range(2, 20)]
    save(path, module(computation(1, parameter(0, 1), *copies)))


@bomb("HLO proto", "shardings of many devices", "verify FILE", "m.hlo.pb", refused=False)
def _(path):
    iota = field(1, 3) + field(2, 1 << 31) + field(9, 1 << 31) + field(10, 0)
    copy = field(1, "a") + field(2, "copy") + field(3, SCALAR) + field(35, 2) + field(36, 1) + field(40, iota)
    save(path, module(computation(1, parameter(0, 1), copy)))


@bomb("HLO proto", "stack frames", "verify FILE", "m.hlo.pb")
def _(path):
    save(path, module(computation(1, parameter(0, 1))) + field(17, field(1, b"") * 1_000_000 + field(4, b"") * 1_000_000))


@bomb("HLO proto", "unknown fields", "verify FILE", "m.hlo.pb")
def _(path):
    copies = [field(1, f"a{i}") + field(2, "copy") + field(3, SCALAR) + field(35, i) + field(36, 1) + field(900, b"x")
              for i in range(2, 100_000)]
    save(path, module(computation(1, parameter(0, 1), *copies)))


@bomb("HLO snapshot", "many arguments", "verify FILE", "m.hlo.pb")
def _(path):
    proto = field(1, module(computation(1, parameter(0, 1))))
    save(path, field(1, proto) + field(2, field(1, SCALAR) + field(8, b"\0\0\0\0")) * 175_000)


@bomb("HLO text proto", "many instructions", "verify FILE", "m.pbtxt")
def _(path):
    one = "instructions {{ name: \"a{0}\" opcode: \"copy\" shape {{ element_type: F32 }} id: {0} operand_ids: 1 }}\n"
    save(path, 'name: "m"\nentry_computation_name: "e"\nentry_computation_id: 1\ncomputations {\nname: "e"\nid: 1\nroot_id: 1\n'
         'instructions { name: "p" opcode: "parameter" shape { element_type: F32 } id: 1 }\n',
         "".join(one.format(i) for i in range(2, 75_000)), "}\n")


@bomb("HLO text proto", "deep nesting", "verify FILE", "m.pbtxt", refused=False)
def _(path):
    save(path, 'name: "m"\ncomputations { name: "e" instructions { name: "p" opcode: "parameter" shape { element_type: TUPLE ',
         "tuple_shapes { " * 250_000, "}" * 250_000, "} } }\n")


# --- compressed files


def packed(path, *parts):
    with gzip.open(path, "wb", 9) as out:
        for part in parts:
            out.write(part)


@bomb("gzip", "high ratio, text", "verify FILE", "m.hlo.gz")
def _(path):
    packed(path, b"HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n", *[b" " * (1 << 20)] * 128)


@bomb("gzip", "high ratio, proto", "verify FILE", "m.hlo.pb.gz")
def _(path):
    packed(path, module(computation(1, parameter(0, 1))), *[b"\0" * (1 << 20)] * 128)


@bomb("gzip", "many members", "verify FILE", "m.hlo.gz")
def _(path):
    save(path, gzip.compress(b" " * (1 << 20), 9) * 128)


def npy(descr, shape, data=b""):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + data


@bomb(".npy", "a header that promises terabytes", "compare FILE FILE", "a.npy", refused=False)
def _(path):
    save(path, npy("<f8", "(1000000000000,)"))


@bomb(".npy", "many dimensions", "compare FILE FILE", "a.npy", refused=False)
def _(path):
    save(path, npy("<f4", "(" + "1, " * 5_000 + ")", b"\0\0\0\0"))


@bomb(".npz", "high ratio", "compare FILE FILE", "a.npz")
def _(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("in0.npy", npy("<f4", f"({16 << 20},)", b"\0" * (64 << 20)))


@bomb(".npz", "high ratio, as inputs", "run MODULE --platform interpreter --inputs FILE", "a.npz")
def _(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("in0.npy", npy("<f4", f"({16 << 20},)", b"\0" * (64 << 20)))


@bomb(".npz", "many members", "compare FILE FILE", "a.npz")
def _(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as out:
        for i in range(9_000):
            out.writestr(f"m{i}.npy", npy("<f4", "(1,)", b"\0\0\0\0"))


@bomb(".npz", "members that add up", "compare FILE FILE", "a.npz")
def _(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        data = npy("<f4", f"({1 << 20},)", b"\0" * (4 << 20))
        for i in range(20):
            out.writestr(f"m{i}.npy", data)


@bomb(".npz", "a directory that promises many members", "compare FILE FILE", "a.npz")
def _(path):
    save(path, struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65534, 65534, 0, 0, 0))


# --- traces

EVENT = '{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":1,"name":"%s"}'


def chrome(path, *events, head=""):
    save(path, '{"displayTimeUnit":"ns",' + head + '"traceEvents":[', ",\n".join(events), "]}\n")


@bomb("Chrome JSON", "many events", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *(EVENT % (i, "a") for i in range(250_000)))


@bomb("Chrome JSON", "small events", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *['{"ph":"i","ts":0}'] * 500_000)


@bomb("Chrome JSON", "distinct names", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *(EVENT % (i, f"n{i}") for i in range(150_000)))


@bomb("Chrome JSON", "processes", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *('{"ph":"i","ts":0,"pid":%d}' % i for i in range(100_000)))


@bomb("Chrome JSON", "threads", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *('{"ph":"i","ts":0,"tid":%d}' % i for i in range(100_000)))


@bomb("Chrome JSON", "counters", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *('{"ph":"C","ts":0,"name":"c%d","args":{"v":1}}' % i for i in range(100_000)))


@bomb("Chrome JSON", "counters of one event", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, '{"ph":"C","ts":0,"name":"c","args":{' + ",".join(f'"{i}":1' for i in range(375_000)) + "}}")


@bomb("Chrome JSON", "unterminated events", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *('{"ph":"B","ts":%d,"tid":1}' % i for i in range(375_000)))


@bomb("Chrome JSON", "asynchronous events", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *('{"ph":"b","ts":%d,"id":"%d"}' % (i, i) for i in range(150_000)))


@bomb("Chrome JSON", "members of otherData", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, EVENT % (0, "a"), head='"otherData":{' + ",".join(f'"k{i}":""' for i in range(375_000)) + "},")


@bomb("Chrome JSON", "deep nesting", "profile FILE", "a.trace.json", refused=False)
def _(path):
    chrome(path, '{"ph":"X","ts":0,"dur":1,"args":{"a":' + "[" * 1_250_000 + "]" * 1_250_000 + "}}")


@bomb("Chrome JSON", "operations", "profile FILE", "a.trace.json")
def _(path):
    chrome(path, *('{"ph":"i","ts":0,"args":{"hlo_op":"a","hlo_module":"m","program_id":%d}}' % i for i in range(125_000)))


@bomb("Chrome JSON", "compressed", "profile FILE", "a.trace.json.gz")
def _(path):
    packed(path, b'{"traceEvents":[{"ph":"i","ts":0}', *[b',{"ph":"i","ts":0}' * 15_000] * 200, b"]}")


def perfetto(path, *packets):
    save(path, *(field(1, packet) for packet in packets))


TRACK = field(60, field(1, 7) + field(2, "t"))


def begin(timestamp, sequence=1, **more):
    event = field(9, 1) + field(11, 7) + more.get("event", b"")
    return field(8, timestamp) + field(10, sequence) + field(11, event) + more.get("packet", b"")


@bomb("Perfetto", "many events", "profile FILE", "a.pftrace")
def _(path):
    perfetto(path, TRACK, *(begin(i) for i in range(300_000)))


@bomb("Perfetto", "sequences", "profile FILE", "a.pftrace")
def _(path):
    perfetto(path, TRACK, begin(1), *(field(10, i) + field(8, 1) for i in range(2, 375_000)))


@bomb("Perfetto", "states that are cleared", "profile FILE", "a.pftrace")
def _(path):
    perfetto(path, TRACK, begin(1), *[field(10, 1) + field(13, 1)] * 625_000)


@bomb("Perfetto", "interned names", "profile FILE", "a.pftrace")
def _(path):
    names = (field(10, 1) + field(12, b"".join(field(2, field(1, 1000 * k + i) + field(2, b"")) for i in range(1000)))
             for k in range(375))
    perfetto(path, TRACK, begin(1), *names)


@bomb("Perfetto", "interned annotation names", "profile FILE", "a.pftrace")
def _(path):
    names = (field(10, 1) + field(12, b"".join(field(3, field(1, 1000 * k + i) + field(2, b"")) for i in range(1000)))
             for k in range(375))
    perfetto(path, TRACK, begin(1), *names)


@bomb("Perfetto", "tracks", "profile FILE", "a.pftrace")
def _(path):
    perfetto(path, begin(1), *(field(60, field(1, i)) for i in range(10, 250_000)))


@bomb("Perfetto", "processes", "profile FILE", "a.pftrace")
def _(path):
    perfetto(path, begin(1), *(field(60, field(1, i) + field(3, field(1, i) + field(6, f"{i}"))) for i in range(10, 125_000)))


@bomb("Perfetto", "counters of one event", "profile FILE", "a.pftrace")
def _(path):
    numbers = b"".join(varint(i) for i in range(375_000))
    event = field(9, 4) + field(31, numbers) + field(12, b"\1" * 375_000)
    perfetto(path, field(8, 1) + field(10, 1) + field(11, event))


@bomb("Perfetto", "clocks", "profile FILE", "a.pftrace")
def _(path):
    clocks = (field(10, k) + field(6, b"".join(field(1, field(1, 1000 * k + i + 200) + field(2, 5)) for i in range(1000))) for k in range(375))
    perfetto(path, TRACK, begin(1), *clocks)


@bomb("Perfetto", "compressed packets", "profile FILE", "a.pftrace")
def _(path):
    block = zlib.compress(field(1, field(8, 1) + field(10, 1)) * 500_000, 9)
    perfetto(path, TRACK, begin(1), *[field(50, block)] * 30)


@bomb("Perfetto", "events in compressed packets", "profile FILE", "a.pftrace")
def _(path):
    block = zlib.compress(field(1, begin(1)) * 100_000, 9)
    perfetto(path, TRACK, begin(1), *[field(50, block)] * 10)


def plane(*parts, name="/host:CPU"):
    return field(2, name) + b"".join(parts)


def entry(number, identity, value=b""):
    return field(number, field(1, identity) + field(2, value))


LINE = field(3, field(2, "l") + field(4, field(1, 1) + field(2, 0) + field(3, 5)))
NAMED = entry(4, 1, field(1, 1) + field(2, "op"))


@bomb("XPlane", "many events", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, field(3, field(2, "l") + field(4, field(1, 1)) * 375_000))))


@bomb("XPlane", "planes", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, LINE)), field(1, field(2, "p")) * 250_000)


@bomb("XPlane", "planes with one far id", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, LINE)), field(1, plane(entry(4, 65535))) * 1_000)


@bomb("XPlane", "lines", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, field(3, field(4, field(1, 1))) * 250_000)))


@bomb("XPlane", "empty lines", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, LINE, field(3, b"") * 2_000_000)))


@bomb("XPlane", "event metadata", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(LINE, *(entry(4, i, field(2, f"n{i}")) for i in range(1, 175_000)))))


@bomb("XPlane", "stat metadata", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, LINE, *(entry(5, i) for i in range(17_500, 300_000)))))


@bomb("XPlane", "stats of a plane", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, LINE, field(6, b"") * 1_500_000)))


@bomb("XPlane", "stats of a counter", "profile FILE", "a.xplane.pb")
def _(path):
    stats = b"".join(field(4, field(1, i) + field(4, 1)) for i in range(225_000))
    save(path, field(1, plane(NAMED, field(3, field(2, "_counters_") + field(4, field(1, 1) + stats)), name="/device:GPU:0")))


@bomb("XPlane", "messages of the recorder", "profile FILE", "a.xplane.pb")
def _(path):
    save(path, field(1, plane(NAMED, LINE)), field(2, b"") * 1_000_000, field(4, b"") * 1_000_000)


@bomb("XPlane", "compressed", "profile FILE", "a.xplane.pb.gz")
def _(path):
    packed(path, field(1, plane(NAMED, field(3, field(2, "l") + field(4, field(1, 1)) * 3_000_000))))


def nsight(path, *statements):
    if os.path.exists(path):
        os.remove(path)
    with sqlite3.connect(path) as data:
        data.execute("PRAGMA journal_mode=off")
        data.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        data.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, shortName INT)")
        data.execute("CREATE TABLE NVTX_EVENTS (start INT, end INT, globalTid INT, text TEXT, textId INT)")
        data.execute("INSERT INTO StringIds VALUES (1, 'k')")
        for statement in statements:
            data.execute(statement)
    data.close()


COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "


@bomb("Nsight SQLite", "many events", "profile FILE", "a.sqlite")
def _(path):
    nsight(path, COUNT % 300_000 + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 1, 7, 1 FROM n")


@bomb("Nsight SQLite", "streams", "profile FILE", "a.sqlite")
def _(path):
    nsight(path, COUNT % 125_000 + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 1, i, 1 FROM n")


@bomb("Nsight SQLite", "devices", "profile FILE", "a.sqlite")
def _(path):
    nsight(path, COUNT % 75_000 + "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, i, 1, 7, 1 FROM n")


@bomb("Nsight SQLite", "threads", "profile FILE", "a.sqlite")
def _(path):
    nsight(path, COUNT % 100_000 + "INSERT INTO NVTX_EVENTS SELECT i, i + 1, i, 'a', NULL FROM n")


@bomb("Nsight SQLite", "distinct names", "profile FILE", "a.sqlite")
def _(path):
    nsight(path, COUNT % 150_000 + "INSERT INTO NVTX_EVENTS SELECT i, i + 1, 1, 'name ' || i, NULL FROM n")


@bomb("Nsight SQLite", "one long name", "profile FILE", "a.sqlite")
def _(path):
    nsight(path, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 1, CAST(zeroblob(15000000) AS TEXT), NULL)")


@bomb("Nsight SQLite", "tables", "profile FILE", "a.sqlite", refused=False)
def _(path):
    nsight(path, *(f"CREATE TABLE t{i}_EVENTS (a)" for i in range(1_000)))


# --- dumps: a folder with a module and the file


def dump(path, name, *parts, text="HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n", stage="sm_9.0_gpu_after_optimizations"):
    os.makedirs(path, exist_ok=True)
    save(os.path.join(path, f"module_0001.m.{stage}.txt"), text)
    save(os.path.join(path, name), *parts)


@bomb("thunk sequence", "many thunks", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.thunk_sequence.txt", "".join(f"{i:03}: kCopy\n" for i in range(150_000)))


@bomb("thunk metadata", "many entries", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.thunk_sequence.txt", "000: kCopy\n")
    save(os.path.join(path, "module_0001.m.thunk_metadata.pb"),
         *(field(1, field(1, field(1, "k") + field(3, i)) + field(2, "kCopy")) for i in range(200_000)))


@bomb("buffer assignment", "many allocations", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.sm_9.0_gpu_after_optimizations-buffer-assignment.txt", "BufferAssignment:\n", "".join(
        f"allocation {i}: size 4, maybe-live-out:\n value: <{i} p @0> (size=4,offset=0): f32[]\n" for i in range(75_000)),
        "\nTotal bytes used: 4 (4B)\n")


@bomb("buffer assignment", "many allocations, proto", "info FILE --json", "d")
def _(path):
    allocations = b"".join(field(3, field(1, i) + field(2, 4) + field(9, field(1, 1) + field(3, 4))) for i in range(150_000))
    logical = field(1, field(1, 1) + field(2, 4) + field(3, field(2, "p1") + field(4, 1)))
    os.makedirs(path, exist_ok=True)
    save(os.path.join(path, "module_0001.m.sm_9.0_gpu_after_optimizations.hlo.pb"),
         field(1, module(computation(1, parameter(0, 1)))), field(3, logical + allocations))


@bomb("live ranges", "many values", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.sm_9.0_gpu_after_optimizations-buffer-assignment.txt", "BufferAssignment:\nallocation 0: size 4, maybe-live-out:\n"
         " value: <0 p @0> (size=4,offset=0): f32[]\n\nTotal bytes used: 4 (4B)\n")
    save(os.path.join(path, "module_0001.m.sm_9.0_gpu_after_optimizations-live-range.txt"), "HloLiveRange (max 1):\n  InstructionSequence:\n",
         "".join(f"    {i}:p{i}\n" for i in range(25_000)), "  BufferLiveRange:\n", "".join(f"    p{i}{{}}:0-{i}\n" for i in range(225_000)))


@bomb("PTX", "many kernels", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n", "".join(
        f".visible .entry k{i}()\n{{\nret;\n}}\n" for i in range(75_000)))


@bomb("LLVM IR", "many functions", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.ir-with-opt.ll", "; ModuleID = 'm'\ntarget triple = \"nvptx64-nvidia-cuda\"\n", "".join(
        f"define ptx_kernel void @k{i}() {{\n  ret void\n}}\n" for i in range(75_000)))


@bomb("assembly", "many functions", "info FILE --json", "d")
def _(path):
    dump(path, "module_0001.m.s", "".join(f".globl k{i}\n.type k{i},@function\nk{i}:\n ret\n.size k{i}, 1\n" for i in range(75_000)),
         stage="cpu_after_optimizations")


@bomb("ELF", "many symbols", "info FILE --json", "d")
def _(path):
    count = 150_000
    strings = b"\0" + b"".join(b"%07d\0" % i for i in range(count))
    symbols = bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 + 8 * i, 0x12, 0, 1, 0, 1) for i in range(count))
    text = b"\xc3"
    at = 64
    heads = [bytes(64)]
    body = b""
    for kind, data, link, size in ((1, text, 0, 0), (3, strings, 0, 0), (2, symbols, 2, 24), (3, b"\0", 0, 0)):
        heads.append(struct.pack("<IIQQQQIIQQ", 0, kind, 6 if kind == 1 else 0, 0, at + len(body), len(data), link, 1 if kind == 2 else 0, 1, size))
        body += data
    elf = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, at + len(body), 0, 64, 0, 0, 64, len(heads), 4)
    dump(path, "module_0001.m.o", elf, body, *heads, stage="cpu_after_optimizations")


@bomb("ELF", "a section that promises symbols", "info FILE --json", "d", refused=False)
def _(path):
    elf = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, 65000, 1)
    dump(path, "module_0001.m.o", elf, struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, 64, 1 << 60, 0, 1, 1, 24) * 2, stage="cpu_after_optimizations")


@bomb("GraphDef", "many nodes", "info FILE --json", "d")
def _(path):
    os.makedirs(path, exist_ok=True)
    save(os.path.join(path, "mark_for_compilation.pb"), *(field(1, field(1, f"n{i}") + field(2, "Add")) for i in range(150_000)), field(4, field(1, 27)))


@bomb("GraphDef", "many edges", "info FILE --json", "d")
def _(path):
    os.makedirs(path, exist_ok=True)
    save(os.path.join(path, "mark_for_compilation.pb"), field(1, field(1, "a") + field(2, "Const")),
         *(field(1, field(1, f"n{i}") + field(2, "AddN") + field(3, "a") * 1000) for i in range(750)), field(4, field(1, 27)))


@bomb("GraphDef", "many nodes, text", "info FILE --json", "d")
def _(path):
    os.makedirs(path, exist_ok=True)
    save(os.path.join(path, "mark_for_compilation.pbtxt"), "".join(f'node {{\n  name: "n{i}"\n  op: "Add"\n}}\n' for i in range(75_000)),
         "versions {\n  producer: 27\n}\n")


@bomb("logs", "errors", "explain FILE", "a.log", refused=False)
def _(path):
    save(path, "".join(f"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {i} bytes.\n" for i in range(75_000)))


@bomb("logs", "lines", "explain FILE", "a.log")
def _(path):
    save(path, "\n" * 5_000_000, "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4 bytes.\n")


@bomb("logs", "recompilations", "explain FILE", "a.log")
def _(path):
    save(path, "".join("WARNING:2026-01-01 00:00:00,000:jax._src.interpreters.pxla:1906: Compiling jit(f%d) with global shapes and types [ShapedArray(float32[])]. "
                       "Argument mapping: (UnspecifiedValue,).\n" % i for i in range(50_000)))


@bomb("logs", "errors in a dump", "info FILE --json", "d", refused=False)
def _(path):
    dump(path, "stderr.log", "".join(f"XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate {i} bytes.\n" for i in range(75_000)))


@bomb("dump folder", "many files", "info FILE --json --limit directory-entries=1000", "d")
def _(path):
    os.makedirs(path, exist_ok=True)
    for i in range(1_500):
        save(os.path.join(path, f"module_{i:04}.m{i}.before_optimizations.txt"), "HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")


# --- what hloscope itself writes


@bomb(".hlob", "a manifest of nested lists", "info FILE", "a.hlob")
def _(path):
    manifest = '{"format":"hloscope-bundle","version":1,"x":[' + ",".join(["[]"] * 1_000_000) + "]}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("manifest.json", manifest)


@bomb(".hlob", "a module of high ratio", "info FILE", "a.hlob")
def _(path):
    module_bytes = b"HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n" + b" " * (100 << 20)
    manifest = {"format": "hloscope-bundle", "version": 1, "parts": [{"file": "module.hlo", "bytes": len(module_bytes), "hash": "0"}]}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in (("manifest.json", json.dumps(manifest)), ("module.hlo", module_bytes)):
            entry_info = zipfile.ZipInfo(name)
            entry_info.compress_type = zipfile.ZIP_DEFLATED
            entry_info.create_system = 3
            entry_info.external_attr = 0o100644 << 16
            out.writestr(entry_info, data)
