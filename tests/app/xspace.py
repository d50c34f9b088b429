"""XSpace, field by field: written for planted traces, and read without hloscope. Field numbers: profiler/xplane.proto."""


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def space(lanes):
    """Of lists of (name, start, end) in picoseconds, a lane for each."""
    names = sorted({name for lane in lanes for name, _, _ in lane})
    plane = data(2, '/host:CPU')
    for at, lane in enumerate(lanes):
        events = b''.join(data(4, number(1, names.index(name) + 1) + number(2, start) + number(3, end - start)) for name, start, end in lane)
        plane += data(3, number(1, at + 1) + data(2, f'thread/{at}') + events)
    for at, name in enumerate(names):
        plane += data(4, number(1, at + 1) + data(2, number(1, at + 1) + data(2, name)))
    return data(1, plane)


def fields(message):
    """(field, number or bytes) of a message."""
    at = 0

    def take():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        tag = take()
        size = {0: 0, 1: 8, 5: 4}.get(tag & 7)
        if size == 0:
            yield tag >> 3, take()
            continue
        size = take() if size is None else size
        yield tag >> 3, message[at:at + size]
        at += size


def lanes(space_bytes):
    """Of each lane its (name, start, end), in order of start, outer ones first."""
    for number_, plane in fields(space_bytes):
        if number_ != 1:
            continue
        names, lines = {}, []
        for field, value in fields(plane):
            if field == 4:
                entry = dict(fields(value))
                names[entry[1]] = dict(fields(entry[2])).get(2, b'').decode()
            elif field == 3:
                lines.append(value)
        for line in lines:
            events = [dict(fields(event)) for field, event in fields(line) if field == 4]
            yield sorted(((names[e[1]], e.get(2, 0), e.get(2, 0) + e.get(3, 0)) for e in events), key=lambda one: (one[1], -one[2]))
