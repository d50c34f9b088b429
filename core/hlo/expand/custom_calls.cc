// The rows of custom_calls.def, found by target.
#include "core/hlo/expand/custom_calls.h"

#include <algorithm>
#include <iterator>

namespace hloscope::hlo::expand {
namespace {

constexpr CustomCallRow kRows[] = {
#define CUSTOM_CALL(target, meaning, source) \
  {target, CustomCall::k##meaning, nullptr, source, {}, {}},
#define CUSTOM_CALL_EXPANDED(target, name, source) \
  {target, CustomCall::kExpansion, &Expand##name, source, {}, {}},
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix) \
  {target, CustomCall::kUnsupported, nullptr, {}, why, fix},
#include "core/hlo/expand/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED
};

// `?` is any one character, `*` any number of them.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

const CustomCallRow* FindCustomCall(std::string_view target) {
  const auto* row = std::ranges::find_if(
      kRows, [&](const CustomCallRow& candidate) { return Matches(candidate.target, target); });
  return row == std::end(kRows) ? nullptr : row;
}

const CustomCallRow* FindCustomCall(const Module& module, InstructionId id) {
  if (module[id].opcode != Opcode::kCustomCall) return nullptr;
  return FindCustomCall(module.GetString(module[id], AttributeKey::kCustomCallTarget));
}

bool TakesNoWork(const Module& module, InstructionId id) {
  constexpr CustomCall kFree[] = {CustomCall::kIdentity, CustomCall::kEffect,
                                  CustomCall::kCalledComputation, CustomCall::kEnterManual,
                                  CustomCall::kLeaveManual};
  const CustomCallRow* const row = FindCustomCall(module, id);
  return row != nullptr && std::ranges::find(kFree, row->meaning) != std::end(kFree);
}

}  // namespace hloscope::hlo::expand
