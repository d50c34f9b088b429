// Source lines out of metadata and the stack frame tables.
#include "core/hlo/analysis/source_line.h"

#include <fmt/format.h>

namespace hloscope::hlo {
namespace {

// Ids count from 1; 0 and what lies outside the table is unknown.
template <typename T>
const T* At(const std::vector<T>& list, int32_t number) {
  return number >= 1 && static_cast<size_t>(number) <= list.size()
             ? &list[static_cast<size_t>(number) - 1]
             : nullptr;
}

}  // namespace

std::string SourceLineOf(const Module& module, const Instruction& instruction) {
  const auto* metadata = module.Get<OpMetadata>(instruction, AttributeKey::kMetadata);
  if (metadata == nullptr) return {};
  if (metadata->source_file.valid()) {
    return fmt::format("{}:{}", module[metadata->source_file], metadata->source_line);
  }
  const StackFrames& tables = module.header().stack_frames;
  const auto* frame = At(tables.frames, metadata->stack_frame_id);
  const auto* location = frame == nullptr ? nullptr : At(tables.locations, frame->file_location_id);
  if (location == nullptr) return {};
  const StringId* file = At(tables.file_names, location->file_name_id);
  const StringId* function = At(tables.function_names, location->function_name_id);
  return fmt::format("{}:{} ({})", file == nullptr ? "?" : module[*file], location->line,
                     function == nullptr ? "?" : module[*function]);
}

}  // namespace hloscope::hlo
