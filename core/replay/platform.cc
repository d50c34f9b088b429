// The table of platforms.
#include "core/replay/platform.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/closest_text.h"

namespace hloscope::replay {

#define PLATFORM(name, make, summary) std::unique_ptr<Platform> make();
#include "core/replay/platforms.def"
#undef PLATFORM

std::unique_ptr<Platform> MakePluginPlatform(std::string_view name, std::string_view path);

namespace {

constexpr PlatformRow kRows[] = {
#define PLATFORM(name, make, summary) {name, make, summary},
#include "core/replay/platforms.def"
#undef PLATFORM
};

// What stands for every plugin given as a file.
constexpr std::string_view kPlugin = "pjrt:";

}  // namespace

std::span<const PlatformRow> PlatformRows() { return kRows; }

Status CheckPlatform(std::string_view name) {
  if (name.starts_with(kPlugin) && name != kPlugin) return {};
  ClosestText closest(name);
  std::string known;
  for (const PlatformRow& row : kRows) {
    if (row.name == name) return {};
    closest.Offer(row.name);
    known.append(row.name).append(", ");
  }
  return InputError(fmt::format("unknown platform {}, expected {}or pjrt:FILE.so", name, known),
                    closest.Hint());
}

Result<std::unique_ptr<Platform>> MakePlatform(std::string_view name) {
  if (name.starts_with(kPlugin) && name != kPlugin) {
    return MakePluginPlatform(name, name.substr(kPlugin.size()));
  }
  HLOSCOPE_TRY(CheckPlatform(name));
  return std::ranges::find(kRows, name, &PlatformRow::name)->make();
}

std::vector<hlo::Shape> ParameterShapes(const hlo::Module& module) {
  std::vector<hlo::Shape> shapes;
  for (hlo::InstructionId parameter : module.Parameters(module.entry_id())) {
    shapes.push_back(parameter.valid() ? module.shape(parameter) : hlo::Shape());
  }
  return shapes;
}

}  // namespace hloscope::replay
