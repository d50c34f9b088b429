// What a column of run_options.def says of an option's values, and how the command line reads them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/command.h"
#include "core/base/result.h"

namespace hloscope::app {

struct OptionKind {
  std::vector<std::string> words = {};  // the values; the member is the index of one
  std::optional<int64_t> min = {}, max = {};
  bool positive = false, inverted = false, bytes = false;
};
inline OptionKind Plain() { return {}; }
inline OptionKind AtLeast(int64_t min) { return {.min = min}; }
inline OptionKind Between(int64_t min, int64_t max) { return {.min = min, .max = max}; }
inline OptionKind Positive() { return {.positive = true}; }
inline OptionKind Inverted() { return {.inverted = true}; }
inline OptionKind Bytes() { return {.bytes = true}; }
template <typename... Texts>
OptionKind Words(Texts... words) {
  return {.words = {words...}};
}

// What a module must have, or its inputs be, for an option to have an effect.
enum class ModuleNeed : uint8_t {
  kNone,
  kGeneratedInputs,  // of parameters
  kGeneratedValues,  // of parameters or infeeds
  kInfeed,
  kOutfeed,
  kElidedConstants,
};

// What the platform of a run, or its reference, must be for an option to have an effect, else it is
// an error; and the module, else there is a note.
struct OptionNeed {
  uint32_t flags = 0;           // of which a platform has one; 0: any platform does
  std::string_view lacks = {};  // what one is that has none: "does not simulate a GPU"
  bool either = false;          // the reference platform will do
  ModuleNeed module = ModuleNeed::kNone;
};
inline OptionNeed Anywhere() { return {}; }
inline OptionNeed On(uint32_t flags, std::string_view lacks) { return {flags, lacks}; }
inline OptionNeed OnEither(uint32_t flags, std::string_view lacks) { return {flags, lacks, true}; }
inline OptionNeed Needs(ModuleNeed module) { return {.module = module}; }

// "2G" is 2 · 2^30. Input error: no such number.
Result<int64_t> BytesFromText(std::string_view text);

template <typename T>
struct ValueOf {
  using Type = T;
};
template <typename T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

/// The target that writes what is read to `member`, which must outlive it.
template <typename T>
OptionSpec::Target TargetOf(T& member, const OptionKind& kind) {
  using Value = typename ValueOf<T>::Type;
  if constexpr (std::is_enum_v<Value> || std::same_as<Value, bool>) {
    if (!kind.words.empty()) {
      return [&member, words = kind.words](const std::string& text) -> Status {
        member = static_cast<Value>(std::ranges::find(words, text) - words.begin());
        return {};
      };
    }
  }
  if constexpr (std::same_as<T, bool>) {
    if (kind.inverted) {
      return [&member](const std::string& text) -> Status {
        member = text != "true";
        return {};
      };
    }
  }
  if constexpr (std::same_as<T, int64_t>) {
    if (kind.bytes) {
      return [&member](const std::string& text) -> Status {
        HLOSCOPE_ASSIGN_OR_RETURN(member, BytesFromText(text));
        return {};
      };
    }
  }
  if constexpr (!std::is_enum_v<Value>) return &member;
  return OptionSpec::Setter();
}

}  // namespace hloscope::app
