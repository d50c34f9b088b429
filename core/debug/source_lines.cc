// Source lines out of metadata and stack frames.
#include "core/debug/lineage.h"

namespace hloscope::debug {
namespace {

constexpr size_t kMostFrames = 256;  // a table may name itself as its parent

template <typename T>
const T* At(const std::vector<T>& table, int32_t id) {
  bool inside = id >= 1 && static_cast<size_t>(id) <= table.size();
  return inside ? &table[static_cast<size_t>(id) - 1] : nullptr;
}

std::string NameAt(const hlo::Module& module, const std::vector<hlo::StringId>& names, int32_t id) {
  const hlo::StringId* name = At(names, id);
  return name == nullptr ? std::string() : std::string(module[*name]);
}

}  // namespace

std::vector<SourceLine> SourceFramesOf(const hlo::Module& module, hlo::InstructionId id) {
  std::vector<SourceLine> lines;
  const auto* metadata = module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata);
  if (metadata == nullptr) return lines;
  const hlo::StackFrames& tables = module.header().stack_frames;
  int32_t frame_id = metadata->stack_frame_id;
  while (lines.size() < kMostFrames) {
    const hlo::StackFrames::Frame* frame = At(tables.frames, frame_id);
    if (frame == nullptr) break;
    if (const auto* place = At(tables.locations, frame->file_location_id)) {
      lines.push_back({.file = NameAt(module, tables.file_names, place->file_name_id),
                       .function = NameAt(module, tables.function_names, place->function_name_id),
                       .line = place->line});
    }
    frame_id = frame->parent_frame_id;
  }
  bool inline_line = lines.empty() && metadata->source_file.valid() && metadata->source_line != 0;
  if (inline_line) {
    lines.push_back({.file = std::string(module[metadata->source_file]),
                     .function = {},
                     .line = metadata->source_line});
  }
  return lines;
}

SourceLine SourceLineOf(const hlo::Module& module, hlo::InstructionId id) {
  std::vector<SourceLine> lines = SourceFramesOf(module, id);
  return lines.empty() ? SourceLine() : lines.front();
}

}  // namespace hloscope::debug
