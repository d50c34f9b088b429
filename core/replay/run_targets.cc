// Targets of runs as flags of XLA.
#include "core/replay/run_targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "core/replay/any_case.h"
#include "core/replay/platform_table.h"

namespace hloscope::replay {
namespace {

constexpr std::string_view kNative = "native", kFlag = "xla_cpu_max_isa";

// Instruction sets that XLA:CPU can be limited to, as its flag has them, and whether this machine
// has what code for them needs.
struct RunTarget {
  std::string_view name;
  bool (*is_here)();
};

#ifdef __x86_64__
#define IS_HERE(feature) [] { return __builtin_cpu_supports(feature) != 0; }
#else
#define IS_HERE(feature) [] { return false; }
#endif
constexpr RunTarget kTargetTable[] = {
    {"SSE4_2", IS_HERE("sse4.2")},
    {"AVX", IS_HERE("avx")},
    {"AVX2", IS_HERE("avx2")},
    {"AVX512", IS_HERE("avx512f")},
    {"AVX512_VNNI", IS_HERE("avx512vnni")},
    {"AVX512_BF16", IS_HERE("avx512bf16")},
};
#undef IS_HERE

std::string AllNames() {
  std::string names(kNative);
  for (const RunTarget& target : kTargetTable) names += fmt::format(", {}", target.name);
  return names;
}

}  // namespace

Result<std::optional<std::pair<std::string, std::string>>> FlagOfTarget(std::string_view option,
                                                                        std::string_view platform,
                                                                        std::string_view target) {
  if (IsSameInAnyCase(target, kNative)) return std::nullopt;
  const PlatformRow* row = FindPlatform(platform);
  const std::string asked = fmt::format("{} {}", option, target);
  if (row == nullptr) return InputError(fmt::format("{}: no platform {}", asked, platform));
  if (!row->Has(kXlaFlags)) {
    return InputError(fmt::format("{}: {} compiles nothing for a target", asked, platform),
                      "platforms with targets: " + PlatformNames(kXlaFlags));
  }
  if (row->devices != Devices::kHost) {
    return InputError(fmt::format("{}: {} runs on the device that is there", asked, platform),
                      fmt::format("`hloscope compile MODULE --with {} --target {}` compiles for "
                                  "another one",
                                  platform, target));
  }
  const auto known = std::ranges::find_if(
      kTargetTable, [&](const RunTarget& each) { return IsSameInAnyCase(each.name, target); });
  if (known == std::end(kTargetTable)) {
    return InputError(fmt::format("{}: {} does not know it", asked, platform),
                      "one of " + AllNames());
  }
  if (!known->is_here()) {
    return InputError(fmt::format("{}: this machine has no {}", asked, known->name),
                      fmt::format("run on a machine that has it, or name one that is here; "
                                  "{} is everything it has",
                                  kNative));
  }
  return std::pair{std::string(kFlag), std::string(known->name)};
}

bool ReadsFlag(std::string_view platform, std::string_view flag) {
  const PlatformRow* row = FindPlatform(platform);
  if (row == nullptr || row->Has(kXlaFlags)) return true;
  return row->Has(kOwnCompiler) && flag == kDisablePassesFlag;
}

bool IsOwnCompiler(std::string_view platform) {
  const PlatformRow* row = FindPlatform(platform);
  return row != nullptr && row->Has(kOwnCompiler);
}

}  // namespace hloscope::replay
