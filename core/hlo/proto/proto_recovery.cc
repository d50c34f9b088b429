// The table of original values lost by passes: for each the array that has it now, and the module
// that computes it from there.
#include "core/hlo/proto/proto_recovery.h"

#include <optional>

#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_reader.h"
#include "core/hlo/proto/proto_values.h"
#include "core/hlo/text/origin_table.h"
#include "core/hlo/text/text.h"

namespace hloscope::hlo {
namespace {

// A module that recovers a value may have such a table too; printing each inside the other grows
// with the product of depth and size.
constexpr int64_t kMaxDepth = 2;

Result<OriginTableEntry> ReadEntry(std::string_view bytes, const Limits& limits, int64_t depth) {
  using namespace RecoveryEntryField;
  std::string_view before, after, module_bytes;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(kOldOriginalArray)) before = field.bytes;
    if (field.tag == AsBytes(kNewOriginalArray)) after = field.bytes;
    if (field.tag == AsBytes(kRecoveryModule)) module_bytes = field.bytes;
  }
  if (!reader.ok()) return Malformed("OriginalValueRecoveryTableProto.Entry");
  OriginTableEntry entry;
  HLOSCOPE_ASSIGN_OR_RETURN(entry.lost, ReadOriginalArray(before));
  HLOSCOPE_ASSIGN_OR_RETURN(entry.kept, ReadOriginalArray(after));
  if (module_bytes.empty()) return entry;
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const Module> module,
                            ReadModuleProto(module_bytes, limits, nullptr, depth + 1));
  PrintText(*module, TextFormat::kHlo, entry.module.emplace());
  return entry;
}

}  // namespace

Result<std::string> ReadRecoveryText(std::string_view bytes, const Limits& limits, int64_t depth) {
  std::vector<OriginTableEntry> entries;
  if (depth >= kMaxDepth) return std::string();
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(RecoveryTableField::kEntries)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(OriginTableEntry entry, ReadEntry(field.bytes, limits, depth));
    entries.push_back(std::move(entry));
  }
  if (!reader.ok()) return Malformed("OriginalValueRecoveryTableProto");
  std::optional<std::string> text = OriginTableText(entries, TextFormat::kHlo);
  if (!text) return InputError("origin_recovery_table: a module in it cannot be read");
  return *std::move(text);
}

void WriteRecoveryText(WireWriter& out, std::string_view text) {
  using namespace RecoveryEntryField;
  auto entries = ReadOriginTable(text);
  if (!entries) return;
  for (const OriginTableEntry& entry : *entries) {
    auto mark = out.Open(RecoveryTableField::kEntries);
    WriteOriginalArray(out, kOldOriginalArray, entry.lost);
    WriteOriginalArray(out, kNewOriginalArray, entry.kept);
    if (entry.module) {
      ParseResult parsed = ParseText(*entry.module);
      if (parsed.ok()) out.BytesUnlessEmpty(kRecoveryModule, ModuleToProto(*parsed.module));
    }
    out.Close(mark);
  }
}

}  // namespace hloscope::hlo
