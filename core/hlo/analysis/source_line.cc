// Source lines out of metadata and the stack frame tables.
#include "core/hlo/analysis/source_line.h"

#include <fmt/format.h>

#include <unordered_set>

#include "core/base/work_count.h"

namespace hloscope::hlo {
namespace {

constexpr size_t kMaxFrames = 256;  // a table may name itself as its parent

template <typename T>
const T* At(const std::vector<T>& table, int32_t id) {
  bool inside = id >= 1 && static_cast<size_t>(id) <= table.size();
  return inside ? &table[static_cast<size_t>(id) - 1] : nullptr;
}

std::string NameAt(const Module& module, const std::vector<StringId>& names, int32_t id) {
  const StringId* name = At(names, id);
  return name == nullptr ? std::string() : std::string(module[*name]);
}

// At most that many frames, innermost first.
std::vector<SourceLine> Frames(const Module& module, InstructionId id, size_t most) {
  std::vector<SourceLine> lines;
  const auto* metadata = module.Get<OpMetadata>(module[id], AttributeKey::kMetadata);
  if (metadata == nullptr) return lines;
  const StackFrames& tables = module.header().stack_frames;
  int32_t frame_id = metadata->stack_frame_id;
  for (size_t steps = 0; steps < kMaxFrames && lines.size() < most; ++steps) {
    const StackFrames::Frame* frame = At(tables.frames, frame_id);
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

}  // namespace

std::vector<SourceLine> SourceFramesOf(const Module& module, InstructionId id) {
  return Frames(module, id, kMaxFrames);
}

SourceLine SourceLineOf(const Module& module, InstructionId id) {
  std::vector<SourceLine> lines = Frames(module, id, 1);
  return lines.empty() ? SourceLine() : lines.front();
}

SourceLine LinesWithCalled::Of(InstructionId id) {
  SourceLine line = SourceLineOf(module_, id);
  if (line.line > 0) return line;
  for (const ComputationId c : module_.CalledComputations(module_[id])) {
    line = last_.Get(c, [&] {
      CountWork(module_[c].instruction_count);
      SourceLine last;
      for (uint32_t k = module_[c].instruction_count; k-- > 0 && last.line <= 0;)
        last = SourceLineOf(module_, InstructionId(module_[c].first_instruction + k));
      return last;
    });
    if (line.line > 0) break;
  }
  return line;
}

std::string ToString(const SourceLine& line) {
  if (line.line == 0) return {};
  std::string out = fmt::format("{}:{}", line.file, line.line);
  return line.function.empty() ? out : out + fmt::format(" ({})", line.function);
}

std::string_view OpNameOf(const Module& module, InstructionId id) {
  const auto* metadata = module.Get<OpMetadata>(module[id], AttributeKey::kMetadata);
  return metadata == nullptr || !metadata->op_name.valid() ? std::string_view()
                                                           : module[metadata->op_name];
}

std::vector<std::string_view> NamesIn(std::string_view op_name) {
  std::vector<std::string_view> names;
  if (op_name.empty()) return names;
  // Up to the first scope, "jit(f)"; of names without scopes nothing. It has no `;`, at which each
  // comparison with it ends: the whole is linear.
  const size_t end = op_name.find_first_of("/;");
  const std::string_view program = end == std::string_view::npos || op_name[end] == ';'
                                       ? std::string_view()
                                       : op_name.substr(0, end);
  const auto is_name = [&](std::string_view rest) {
    if (program.empty()) return !rest.empty();
    return rest.starts_with(program) &&
           (rest.size() == program.size() || std::string_view("/;").contains(rest[program.size()]));
  };
  std::unordered_set<std::string_view> seen;
  const auto add = [&](std::string_view name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  size_t begin = 0;
  for (size_t at = op_name.find(';'); at != std::string_view::npos;
       at = op_name.find(';', at + 1)) {
    if (!is_name(op_name.substr(at + 1))) continue;
    add(op_name.substr(begin, at - begin));
    begin = at + 1;
  }
  add(op_name.substr(begin));
  return names;
}

}  // namespace hloscope::hlo
