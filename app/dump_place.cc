// Modules by name or id, stages by name or number.
#include "app/dump_place.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/closest_text.h"
#include "core/base/counted.h"

namespace hloscope::app {
namespace {

constexpr size_t kMaxNames = 8;  // in a message

// The module with the most stages, then the largest file of a stage: LLVM IR does not count.
int32_t Largest(const dump::DumpModel& model) {
  int32_t best = -1;
  std::pair<size_t, int64_t> most{0, -1};
  for (size_t m = 0; m < model.modules().size(); ++m) {
    const dump::ModuleEntry& module = model.modules()[m];
    int64_t bytes = 0;
    for (size_t s = 0; s < module.stages.size(); ++s) {
      const int32_t file = model.ModuleFile(static_cast<int32_t>(m), static_cast<int32_t>(s));
      if (file >= 0) bytes = std::max(bytes, model.files()[static_cast<size_t>(file)].bytes);
    }
    std::pair<size_t, int64_t> size{module.stages.size(), bytes};
    if (size <= most) continue;
    most = size;
    best = static_cast<int32_t>(m);
  }
  return best;
}

// "0001, 0004", the numbers of the stages that the pass left.
std::string StagesOf(const std::vector<dump::StageEntry>& stages, std::string_view pass) {
  std::string numbers;
  size_t count = 0;
  for (const dump::StageEntry& stage : stages) {
    if (stage.pass != pass || ++count > kMaxNames) continue;
    numbers += (numbers.empty() ? "" : ", ") + stage.name.substr(0, stage.name.find('.'));
  }
  return count > kMaxNames ? numbers + ", …" : numbers;
}

}  // namespace

std::pair<std::string, std::string> SplitModule(std::string_view text) {
  size_t colon = text.find(':');
  // kernel=NAME, line=FILE:LINE: the colon is not that of a module.
  bool other = colon == std::string_view::npos || text.substr(0, colon).find('=') != text.npos;
  if (other) return {"", std::string(text)};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

std::string ModuleTitle(const dump::ModuleEntry& module) {
  return module.id < 0 ? module.name : fmt::format("module_{:04}.{}", module.id, module.name);
}

Result<int32_t> FindModule(const dump::DumpModel& model, std::string_view name) {
  if (model.modules().empty()) return InputError(model.path() + ": no modules");
  if (name.empty()) return Largest(model);
  std::vector<int32_t> found;
  for (size_t m = 0; m < model.modules().size(); ++m) {
    const dump::ModuleEntry& module = model.modules()[m];
    const auto has_id = [&](int64_t id) {
      return name == fmt::format("{}", id) || name == fmt::format("module_{:04}", id) ||
             name == fmt::format("module_{:04}.{}", id, module.name);
    };
    const bool fits = name == module.name || name == ModuleTitle(module) || has_id(module.id) ||
                      (module.end_id >= 0 && has_id(module.end_id));
    if (fits) found.push_back(static_cast<int32_t>(m));
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return InputError(
        fmt::format("{}: {} are called {}", model.path(), Counted(found.size(), "module"), name),
        "name one by its id");
  }
  ClosestText closest(name);
  std::string known;
  for (size_t m = 0; m < model.modules().size(); ++m) {
    closest.Offer(model.modules()[m].name);
    if (m < kMaxNames) known += (m == 0 ? "" : ", ") + ModuleTitle(model.modules()[m]);
  }
  if (model.modules().size() > kMaxNames) known += ", …";
  return InputError(fmt::format("{}: no module {}, expected one of {}", model.path(), name, known),
                    closest.Hint());
}

Result<int32_t> FindStage(const dump::DumpModel& model, int32_t module, std::string_view name) {
  int32_t exact = model.FindStage(module, name);
  if (exact >= 0) return exact;
  const auto& stages = model.modules()[static_cast<size_t>(module)].stages;
  for (size_t s = 0; s < stages.size(); ++s) {
    const std::string& stage = stages[s].name;
    if (stage.starts_with(name) && stage.size() > name.size() && stage[name.size()] == '.') {
      return static_cast<int32_t>(s);
    }
  }
  ClosestText closest(name), pass(name);
  for (const dump::StageEntry& stage : stages) {
    closest.Offer(stage.name);
    pass.Offer(stage.pass);
  }
  std::string hint = closest.Hint();
  // A pass is no stage: its stages are.
  if (const std::string left = StagesOf(stages, name); !left.empty()) {
    hint = "the pass of that name left " + left;
  } else if (hint.empty() && !pass.closest().empty()) {
    hint = fmt::format("the pass `{}` left {}", pass.closest(), StagesOf(stages, pass.closest()));
  }
  if (hint.empty()) hint = "`hloscope info --passes` lists the stages";
  return InputError(fmt::format("{}: no stage {}", model.path(), name), hint);
}

}  // namespace hloscope::app
