#include "core/replay/platform_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/closest_text.h"
#include "core/hlo/module.h"
#include "core/replay/any_case.h"

namespace hloscope::replay {

namespace {

constexpr PlatformRow kRows[] = {
#define PLATFORM(name, make, devices, flags, summary) {name, Devices::devices, flags, summary},
#include "core/replay/platforms.def"
#undef PLATFORM
};

struct Alias {
  std::string_view name, platform;
};
constexpr Alias kAliases[] = {
#define PLATFORM(name, make, devices, flags, summary)
#define PLATFORM_ALIAS(name, platform) {name, platform},
#include "core/replay/platforms.def"
#undef PLATFORM
};

// What stands for every plugin given as a file.
constexpr PlatformRow kPluginFileRow = {"pjrt:FILE.so", Devices::kNone,
                                        kCaptures | kXlaFlags | kDumps,
                                        "an XLA plugin given as a file"};

}  // namespace

std::span<const PlatformRow> PlatformRows() { return kRows; }

const PlatformRow* FindPlatform(std::string_view name) {
  if (name.starts_with(kPluginFilePrefix) && name != kPluginFilePrefix) return &kPluginFileRow;
  const auto row = std::ranges::find(kRows, name, &PlatformRow::name);
  return row == std::end(kRows) ? nullptr : row;
}

std::string_view MeantPlatform(std::string_view name) {
  if (FindPlatform(name) != nullptr) return name;
  for (const Alias& alias : kAliases) {
    if (IsSameInAnyCase(alias.name, name)) return alias.platform;
  }
  const auto row = std::ranges::find_if(
      kRows, [&](const PlatformRow& one) { return IsSameInAnyCase(one.name, name); });
  return row == std::end(kRows) ? name : row->name;
}

Status CheckPlatform(std::string_view name) {
  if (FindPlatform(name) != nullptr) return {};
  for (const std::string_view other : {"tpu", "rocm"}) {
    if (IsSameInAnyCase(other, name)) {
      return InputError(fmt::format("platform {}: TPUs and AMD GPUs are not supported", name),
                        "compare on the CPU or a simulated NVIDIA GPU; `hloscope doctor` lists the "
                        "platforms");
    }
  }
  ClosestText closest(name);
  std::string known;
  for (const PlatformRow& row : kRows) {
    closest.Offer(row.name);
    known.append(row.name).append(", ");
  }
  return InputError(
      fmt::format("unknown platform {}, expected {}or {}", name, known, kPluginFileRow.name),
      closest.Hint());
}

const PlatformRow& ReferencePlatform() { return kRows[0]; }

const PlatformRow& DefaultPlatform() { return *PlatformWith(kDefault); }

const PlatformRow* PluginPlatform(Devices devices) {
  if (devices == Devices::kNone) return nullptr;
  const auto row = std::ranges::find_if(kRows, [devices](const PlatformRow& candidate) {
    return candidate.Has(kNeedsPlugin) && candidate.devices == devices;
  });
  return row == std::end(kRows) ? nullptr : row;
}

const PlatformRow* PlatformWith(PlatformFlag flag) {
  const auto row = std::ranges::find_if(
      kRows, [flag](const PlatformRow& candidate) { return candidate.Has(flag); });
  return row == std::end(kRows) ? nullptr : row;
}

bool OverrunsBits(const PlatformRow& row, const hlo::Module& module) {
  if (!row.Has(kOverrunsBits)) return false;
  const auto is_of_bits = [](const hlo::Shape& shape) {
    const hlo::ElementType type = shape.element_type();
    return (type == hlo::ElementType::kS1 || type == hlo::ElementType::kU1) &&
           shape.ElementCount().value_or(0) > 1;
  };
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const hlo::Shape& shape = module.shape(hlo::InstructionId(i));
    if (shape.IsArray() && is_of_bits(shape)) return true;
  }
  return false;
}

std::string PlatformNames(PlatformFlag flag) {
  std::string names;
  for (const PlatformRow& row : kRows) {
    if (!row.Has(flag)) continue;
    names += names.empty() ? "" : ", ";
    names += row.name;
  }
  return names;
}

}  // namespace hloscope::replay
