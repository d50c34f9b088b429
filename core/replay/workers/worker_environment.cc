// Which variables a child gets.
#include "core/replay/workers/worker_environment.h"

#include <algorithm>
#include <string_view>

#include "core/base/environment.h"

namespace hloscope::replay {
namespace {

constexpr std::string_view kPassedOn[] = {
#define PASSED_ON(name, reason) name,
#include "core/replay/workers/worker_environment.def"
#undef PASSED_ON
};

bool Matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

std::vector<std::string> CleanEnvironment(const std::vector<std::string>& own) {
  std::vector<std::string> clean = own;
  for (const std::string& variable : OwnEnvironment()) {
    const std::string_view name = NameOf(variable);
    const auto same = [name](std::string_view given) { return NameOf(given) == name; };
    if (std::ranges::any_of(own, same)) continue;
    if (std::ranges::any_of(kPassedOn, [name](auto pattern) { return Matches(name, pattern); })) {
      clean.push_back(variable);
    }
  }
  return clean;
}

}  // namespace hloscope::replay
