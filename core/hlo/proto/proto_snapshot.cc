// Files of protos: which message they hold, modules with arguments and results.
#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_reader.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first field of that tag; empty where there is none. Malformed bytes end the search.
std::optional<std::string_view> FirstField(std::string_view bytes, uint32_t tag) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == tag) return field.bytes;
  }
  return std::nullopt;
}

bool IsWellFormed(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
  }
  return reader.ok();
}

bool LooksLikeOpcode(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

// A computation has instructions, which have an opcode.
bool LooksLikeComputation(std::string_view bytes) {
  if (!IsWellFormed(bytes)) return false;
  auto instruction = FirstField(bytes, AsBytes(ComputationField::kInstructions));
  if (!instruction || !IsWellFormed(*instruction)) return false;
  return LooksLikeOpcode(FirstField(*instruction, AsBytes(InstructionField::kOpcode)).value_or(""));
}

bool LooksLikeModule(std::string_view bytes) {
  if (!IsWellFormed(bytes)) return false;
  auto computation = FirstField(bytes, AsBytes(ModuleField::kComputations));
  return computation && LooksLikeComputation(*computation);
}

bool LooksLikeHlo(std::string_view bytes) {
  if (!IsWellFormed(bytes)) return false;
  auto module = FirstField(bytes, AsBytes(HloField::kHloModule));
  return module && LooksLikeModule(*module);
}

bool LooksLikeSnapshot(std::string_view bytes) {
  if (!IsWellFormed(bytes)) return false;
  auto hlo = FirstField(bytes, AsBytes(SnapshotField::kHlo));
  return hlo && LooksLikeHlo(*hlo);
}

// A HloUnoptimizedSnapshot and a HloProto both begin with a module; the one has partitions or a
// version.
bool LooksLikeUnoptimized(std::string_view bytes) {
  if (!LooksLikeHlo(bytes)) return false;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(UnoptimizedSnapshotField::kPartitions)) return true;
    if (field.tag == AsVarint(UnoptimizedSnapshotField::kVersion)) return true;
  }
  return false;
}

// An unoptimised snapshot in a file follows its length; the literals its message describes follow
// it.
struct Delimited {
  std::string_view message;
  std::string_view rest;
};
std::optional<Delimited> SplitDelimited(std::string_view bytes) {
  WireReader reader(bytes);
  uint64_t size;
  if (!reader.NextVarint(size)) return std::nullopt;
  std::string_view after = reader.Rest();
  if (size == 0 || size > after.size()) return std::nullopt;
  return Delimited{after.substr(0, size), after.substr(size)};
}

struct Sniffed {
  ProtoKind kind;
  std::string_view message;
  std::string_view rest;  // after a delimited message
};

std::optional<Sniffed> Sniff(std::string_view bytes) {
  if (LooksLikeSnapshot(bytes)) return Sniffed{ProtoKind::kSnapshot, bytes, {}};
  if (LooksLikeUnoptimized(bytes)) return Sniffed{ProtoKind::kUnoptimizedSnapshot, bytes, {}};
  if (LooksLikeHlo(bytes)) return Sniffed{ProtoKind::kHlo, bytes, {}};
  if (LooksLikeModule(bytes)) return Sniffed{ProtoKind::kModule, bytes, {}};
  auto delimited = SplitDelimited(bytes);
  if (delimited && LooksLikeHlo(delimited->message)) {
    return Sniffed{ProtoKind::kUnoptimizedSnapshot, delimited->message, delimited->rest};
  }
  return std::nullopt;
}

class FileReader {
 public:
  FileReader(const Limits& limits, std::shared_ptr<const void> owner)
      : limits_(limits), owner_(std::move(owner)) {}

  Result<ProtoFile> Read(const Sniffed& sniffed) {
    file_.kind = sniffed.kind;
    switch (sniffed.kind) {
      case ProtoKind::kModule:
        HLOSCOPE_TRY(ReadModule(sniffed.message));
        break;
      case ProtoKind::kHlo:
        HLOSCOPE_TRY(ReadHlo(sniffed.message));
        break;
      case ProtoKind::kSnapshot:
        HLOSCOPE_TRY(ReadSnapshot(sniffed.message));
        break;
      case ProtoKind::kUnoptimizedSnapshot:
        HLOSCOPE_TRY(ReadUnoptimized(sniffed));
        break;
    }
    if (!file_.module) return InputError("the proto has no module");
    return std::move(file_);
  }

 private:
  Status ReadModule(std::string_view bytes) {
    HLOSCOPE_ASSIGN_OR_RETURN(file_.module, ReadModuleProto(bytes, limits_, owner_));
    return {};
  }

  Status ReadHlo(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(HloField::kHloModule)) HLOSCOPE_TRY(ReadModule(field.bytes));
      if (field.tag == AsBytes(HloField::kBufferAssignment)) file_.buffer_assignment = field.bytes;
    }
    if (!reader.ok()) return Malformed("HloProto");
    return {};
  }

  Status ReadSnapshot(std::string_view bytes) {
    using namespace SnapshotField;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(kHlo)) {
        HLOSCOPE_TRY(ReadHlo(field.bytes));
      } else if (field.tag == AsBytes(kArguments)) {
        if (file_.arguments.empty()) file_.arguments.emplace_back();
        HLOSCOPE_TRY(AppendLiteral(field.bytes, file_.arguments[0]));
      } else if (field.tag == AsBytes(kResult)) {
        HLOSCOPE_ASSIGN_OR_RETURN(Literal result, ReadLiteral(field.bytes, limits_, owner_));
        file_.result = std::move(result);
      } else if (field.tag == AsBytes(kExecutionPlatform)) {
        file_.execution_platform = field.bytes;
      }
    }
    if (!reader.ok()) return Malformed("HloSnapshot");
    return {};
  }

  Status ReadUnoptimized(const Sniffed& sniffed) {
    using namespace UnoptimizedSnapshotField;
    std::string_view rest = sniffed.rest;
    WireReader reader(sniffed.message);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(kHloModule)) HLOSCOPE_TRY(ReadModule(field.bytes));
      if (field.tag == AsBytes(kPartitions)) HLOSCOPE_TRY(ReadInputs(field.bytes, rest));
    }
    if (!reader.ok()) return Malformed("HloUnoptimizedSnapshot");
    return {};
  }

  // The arguments of one partition: inside the message, or described there and found after it.
  Status ReadInputs(std::string_view bytes, std::string_view& rest) {
    std::vector<Literal>& arguments = file_.arguments.emplace_back();
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(InputsField::kArguments)) {
        HLOSCOPE_TRY(AppendLiteral(field.bytes, arguments));
      } else if (field.tag == AsBytes(InputsField::kArgumentsDescriptors)) {
        int64_t v[2];  // version, size in bytes
        if (!ReadIntFields(field.bytes, v)) return Malformed("HloInputs.LiteralDescriptor");
        if (v[1] < 0 || std::cmp_greater(v[1], rest.size())) {
          return InputError(
              fmt::format("an argument needs {} bytes, but only {} are left in the file", v[1],
                          rest.size()),
              "the file may be truncated");
        }
        auto size = static_cast<size_t>(v[1]);
        HLOSCOPE_ASSIGN_OR_RETURN(Literal argument,
                                  ReadSerializedLiteral(rest.substr(0, size), limits_, owner_));
        arguments.push_back(std::move(argument));
        rest.remove_prefix(size);
      }
    }
    if (!reader.ok()) return Malformed("HloInputs");
    return {};
  }

  Status AppendLiteral(std::string_view bytes, std::vector<Literal>& literals) {
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, ReadLiteral(bytes, limits_, owner_));
    literals.push_back(std::move(literal));
    return {};
  }

  const Limits& limits_;
  std::shared_ptr<const void> owner_;
  ProtoFile file_;
};

void WriteHlo(WireWriter& out, const ProtoFile& file) {
  out.Bytes(HloField::kHloModule, ModuleToProto(*file.module));
  out.BytesUnlessEmpty(HloField::kBufferAssignment, file.buffer_assignment);
}

}  // namespace

std::optional<ProtoKind> SniffProto(std::span<const std::byte> bytes) {
  auto sniffed = Sniff(TextOf(bytes));
  if (!sniffed) return std::nullopt;
  return sniffed->kind;
}

Result<ProtoFile> ReadProto(std::span<const std::byte> bytes, const Limits& limits,
                            std::shared_ptr<const void> owner) {
  auto sniffed = Sniff(TextOf(bytes));
  if (!sniffed) {
    return InputError("not a HloModuleProto, HloProto, HloSnapshot or HloUnoptimizedSnapshot",
                      "the file may be truncated or corrupt");
  }
  return FileReader(limits, std::move(owner)).Read(*sniffed);
}

std::string HloToProto(const ProtoFile& file) {
  WireWriter out;
  WriteHlo(out, file);
  return std::move(out).Take();
}

std::string SnapshotToProto(const ProtoFile& file) {
  using namespace SnapshotField;
  WireWriter out;
  auto hlo = out.Open(kHlo);
  WriteHlo(out, file);
  out.Close(hlo);
  auto literal = [&](uint32_t number, const Literal& value) {
    auto mark = out.Open(number);
    WriteLiteral(out, value);
    out.Close(mark);
  };
  if (!file.arguments.empty()) {
    for (const Literal& argument : file.arguments[0]) literal(kArguments, argument);
  }
  if (file.result) literal(kResult, *file.result);
  out.BytesUnlessEmpty(kExecutionPlatform, file.execution_platform);
  return std::move(out).Take();
}

}  // namespace hloscope::hlo
