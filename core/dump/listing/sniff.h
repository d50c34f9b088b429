// What a file is, told by its first bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace hloscope::dump {

enum class FileKind : uint8_t {
#define FILE_KIND(kind, name, description) kind,
#include "core/dump/listing/file_kinds.def"
#undef FILE_KIND
};

std::string_view ToString(FileKind kind);
std::string_view Describe(FileKind kind);
// True for what the HLO readers take.
constexpr bool IsModuleKind(FileKind kind) {
  return kind == FileKind::kHloText || kind == FileKind::kHloProto ||
         kind == FileKind::kHloTextProto || kind == FileKind::kBundle || kind == FileKind::kPlan;
}
// A GraphDef of TensorFlow, however it is written.
constexpr bool IsTensorFlowKind(FileKind kind) {
  return kind == FileKind::kTensorFlowGraph || kind == FileKind::kTensorFlowGraphProto;
}
// True for what XLA translates to HLO.
constexpr bool IsProgramKind(FileKind kind) {
  return kind == FileKind::kStableHloText || kind == FileKind::kMlirBytecode ||
         kind == FileKind::kJaxExport;
}

// True for what a person can read.
bool IsText(FileKind kind);

// The kind of a file from its bytes, or from its first few KiB where `complete` is false. Gzip has
// been removed before.
FileKind Sniff(std::string_view bytes, bool complete = true);

}  // namespace hloscope::dump
