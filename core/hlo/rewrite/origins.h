// Origins: where each instruction of a rewritten module comes from, as whoever rewrote it noted it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// How an instruction after a pass comes from one before it, closest first.
enum class OriginKind : uint8_t {
  kSame,       // the instruction itself, perhaps on other operands
  kCopied,     // the same operation, written once more: fused, inlined
  kResult,     // a fusion that gives its value, alone or among others
  kReplaced,   // has its value now
  kParameter,  // the parameter that it is passed as
  kMade,       // made for it: a part of its replacement, or an addition to it
};
inline constexpr std::string_view kOriginWords[] = {"same",     "copied",    "result",
                                                    "replaced", "parameter", "made"};
inline std::string_view WordOf(OriginKind kind) { return kOriginWords[static_cast<size_t>(kind)]; }

struct Origin {
  InstructionId before, after;
  OriginKind kind = OriginKind::kSame;
  bool operator==(const Origin&) const = default;
};

// By the instruction after, then before; of several of one pair the closest is kept.
inline void SortOrigins(std::vector<Origin>& origins) {
  std::ranges::sort(origins, {},
                    [](const Origin& o) { return std::tuple(o.after, o.before, o.kind); });
  const auto rest = std::ranges::unique(origins, [](const Origin& a, const Origin& b) {
    return a.after == b.after && a.before == b.before;
  });
  origins.erase(rest.begin(), rest.end());
}

// What tells a module from others whose origins are not its own: how many instructions it has, and
// FNV-1a of their names in order.
struct ModuleMark {
  uint32_t instructions = 0;
  uint64_t names = 0;
  bool operator==(const ModuleMark&) const = default;
};
ModuleMark MarkOf(const Module& module);

// Of two rewrites one after the other: from before the first to behind the second. A pair is as
// close as the less close of its steps. Both sorted, and so is the result.
std::vector<Origin> ComposeOrigins(const std::vector<Origin>& first,
                                   const std::vector<Origin>& second);

}  // namespace hloscope::hlo
