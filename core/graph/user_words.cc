// Words out of metadata: stack frames first, then files.
#include "core/graph/user_words.h"

#include <algorithm>
#include <array>

namespace hloscope::graph {
namespace {

constexpr std::array<std::string_view, 10> kSayNothing = {
    "<lambda>",  "<module>",  "<unknown>", "<listcomp>", "<dictcomp>",
    "<setcomp>", "<genexpr>", "wrapper",   "wrapped",    "inner"};

bool SaysSomething(std::string_view word) {
  return !word.empty() && std::ranges::find(kSayNothing, word) == kSayNothing.end();
}

std::string_view LastPart(std::string_view name) {
  for (std::string_view inside : {std::string_view("<locals>."), std::string_view(".")}) {
    const size_t at = name.rfind(inside);
    if (at != std::string_view::npos) name.remove_prefix(at + inside.size());
  }
  return name;
}

std::string_view StemOf(std::string_view path) {
  path.remove_prefix(std::min(path.rfind('/') + 1, path.size()));
  return path.substr(0, path.rfind('.'));
}

constexpr std::string_view kBackward = " (backward)";
// Transformations that wrap the name of a scope, in JAX's words.
constexpr std::array<std::string_view, 8> kWrappers = {"jit",  "pjit",      "jvp",        "vmap",
                                                       "pmap", "transpose", "checkpoint", "remat"};
// Scopes that calls inside JAX make.
constexpr std::array<std::string_view, 9> kPlumbing = {
    "checkpoint",      "remat",           "remat2",           "closed_call", "core_call",
    "custom_jvp_call", "custom_vjp_call", "core_closed_call", "pjit"};

// "transpose" of "transpose(jvp(x))", which becomes "jvp(x)"; empty where nothing wraps the name.
std::string_view TakeWrapper(std::string_view& name) {
  const size_t open = name.find('(');
  if (open == std::string_view::npos || name.back() != ')') return {};
  const std::string_view wrapper = name.substr(0, open);
  if (std::ranges::find(kWrappers, wrapper) == kWrappers.end()) return {};
  name = name.substr(open + 1, name.size() - open - 2);
  return wrapper;
}

template <typename T>
const T* Row(const std::vector<T>& table, int32_t id) {
  return id >= 1 && static_cast<size_t>(id) <= table.size() ? &table[static_cast<size_t>(id) - 1]
                                                            : nullptr;
}

}  // namespace

std::string_view UserWordOf(const hlo::Module& module, hlo::InstructionId id) {
  return UserPlaceOf(module, id).word;
}

UserPlace UserPlaceOf(const hlo::Module& module, hlo::InstructionId id) {
  const auto* metadata = module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata);
  if (metadata == nullptr) return {};
  const hlo::StackFrames& tables = module.header().stack_frames;
  // Frames lead outwards; a table that leads around in a circle ends the way.
  int32_t at = metadata->stack_frame_id;
  for (size_t steps = 0; steps < tables.frames.size(); ++steps) {
    const hlo::StackFrames::Frame* frame = Row(tables.frames, at);
    if (frame == nullptr) break;
    const auto* location = Row(tables.locations, frame->file_location_id);
    const hlo::StringId* function =
        location == nullptr ? nullptr : Row(tables.function_names, location->function_name_id);
    if (function != nullptr) {
      const std::string_view word = LastPart(module[*function]);
      if (SaysSomething(word)) return {word, location->line, true};
    }
    at = frame->parent_frame_id;
  }
  if (!metadata->source_file.valid()) return {};
  return {StemOf(module[metadata->source_file]), metadata->source_line, false};
}

std::string ScopeTitle(std::string_view segment) {
  bool is_forward = false, is_backward = false;
  for (std::string_view wrapper = TakeWrapper(segment); !wrapper.empty();
       wrapper = TakeWrapper(segment)) {
    is_forward |= wrapper == "jvp";
    is_backward |= wrapper == "transpose";
  }
  if (segment.empty()) return is_backward ? "backward" : is_forward ? "forward" : "";
  if (segment == "rematted_computation") return "recomputed";
  if (std::ranges::find(kPlumbing, segment) != kPlumbing.end()) return {};
  return std::string(segment).append(is_backward ? kBackward : "");
}

std::string JoinTitles(std::string_view outer, std::string_view inner) {
  if (outer.empty()) return std::string(inner);
  std::string_view name = outer;
  if (name.ends_with(kBackward)) name.remove_suffix(kBackward.size());
  if (inner == name) return std::string(outer);
  if (inner.starts_with(name) && inner.substr(name.size()).starts_with('/'))
    inner.remove_prefix(name.size() + 1);
  return std::string(outer).append("/").append(inner);
}

}  // namespace hloscope::graph
