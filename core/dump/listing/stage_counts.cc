// Walking the wire format down to the opcode of each instruction and no further.
#include "core/dump/listing/stage_counts.h"

#include <span>

#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

using hlo::AsBytes;
using hlo::WireField;
using hlo::WireReader;

// Field numbers of service/hlo.proto.
constexpr uint32_t kModuleOfHlo = 1, kHloOfSnapshot = 1, kName = 1, kOpcode = 2;
constexpr uint32_t kInstructions = 2, kComputations = 3;

// The opcode comes second; what follows it is skipped by length.
bool IsFusion(std::string_view instruction) {
  WireReader reader(instruction);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(kOpcode)) return field.bytes == "fusion";
  }
  return false;
}

bool CountComputation(std::string_view computation, StageCounts& counts) {
  WireReader reader(computation);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(kInstructions)) continue;
    ++counts.instructions;
    counts.fusions += IsFusion(field.bytes) ? 1 : 0;
  }
  return reader.ok();
}

std::optional<StageCounts> CountModule(std::string_view module) {
  StageCounts counts;
  WireReader reader(module);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(kName)) counts.module_name = field.bytes;
    if (field.tag != AsBytes(kComputations)) continue;
    ++counts.computations;
    if (!CountComputation(field.bytes, counts)) return std::nullopt;
  }
  return reader.ok() ? std::optional(counts) : std::nullopt;
}

// The last value of a length-delimited field; empty if there is none, nullopt if malformed.
std::optional<std::string_view> FieldBytes(std::string_view message, uint32_t number) {
  std::string_view found;
  WireReader reader(message);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(number)) found = field.bytes;
  }
  return reader.ok() ? std::optional(found) : std::nullopt;
}

}  // namespace

std::optional<StageCounts> CountInProto(std::string_view bytes) {
  auto kind = hlo::SniffProto(std::as_bytes(std::span(bytes)));
  if (!kind) return std::nullopt;
  std::string_view module = bytes;
  if (*kind == hlo::ProtoKind::kUnoptimizedSnapshot) return std::nullopt;
  if (*kind == hlo::ProtoKind::kSnapshot) {
    auto hlo = FieldBytes(module, kHloOfSnapshot);
    if (!hlo) return std::nullopt;
    module = *hlo;
  }
  if (*kind != hlo::ProtoKind::kModule) {
    auto inner = FieldBytes(module, kModuleOfHlo);
    if (!inner) return std::nullopt;
    module = *inner;
  }
  return CountModule(module);
}

}  // namespace hloscope::dump
