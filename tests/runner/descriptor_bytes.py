"""Descriptors of messages as protoc writes them (google/protobuf/descriptor.proto), for those that no protoc would."""


def part(number, content):
    """A field of bytes or a message within."""
    length, size = len(content), b""
    while length >= 128:
        length, size = length >> 7, size + bytes([length & 127 | 128])
    return bytes([number << 3 | 2]) + size + bytes([length]) + content


def field(name, number, message=None):
    """A FieldDescriptorProto: optional, an int32 or a message of that name."""
    kind = bytes([5 << 3, 5]) if message is None else bytes([5 << 3, 11]) + part(6, message.encode())
    return part(1, name.encode()) + bytes([3 << 3, number, 4 << 3, 1]) + kind


def file(name, messages, imports=(), package=""):
    """A FileDescriptorProto in a FileDescriptorSet. messages: {name: [field(…), …]}."""
    out = part(1, name.encode()) + (part(2, package.encode()) if package else b"")
    out += b"".join(part(3, other.encode()) for other in imports)
    for message, fields in messages.items():
        out += part(4, part(1, message.encode()) + b"".join(part(2, one) for one in fields))
    return part(1, out)
