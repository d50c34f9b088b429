#include "core/ptx/checks/findings.h"

namespace hloscope::ptx {
namespace {

std::string Text(const std::array<uint32_t, 3>& v) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) +
         ")";
}

std::string Text(const FindingSide& side) {
  return "block " + Text(side.block) + ", thread " + Text(side.thread);
}

}  // namespace

std::string_view ToString(FindingKind kind) {
  static constexpr std::string_view kNames[] = {"race", "uninitialised", "barrier"};
  return kNames[static_cast<size_t>(kind)];
}

std::string Finding::ToString() const {
  std::string text =
      at.place.ToString() + ": " + std::string(ptx::ToString(kind)) + ": `" + at.form + "` " + what;
  if (!memory.empty()) text += ", byte " + std::to_string(byte) + " of " + memory;
  text += "; kernel " + kernel + ", " + Text(at);
  if (other.has_value())
    text += "; the other: " + other->place.ToString() + ": `" + other->form + "`, " + Text(*other);
  if (count > 1) text += "; " + std::to_string(count) + " times";
  return text;
}

}  // namespace hloscope::ptx
