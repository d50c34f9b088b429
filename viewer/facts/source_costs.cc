// Costs by line, found in the background.
#include "viewer/facts/source_costs.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "core/hlo/analysis/source_line.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using hlo::InstructionId;
using hlo::Module;

struct CostsKey {
  using Value = SourceCosts;
  std::shared_ptr<const HeatFacts> heat;
  auto operator<=>(const CostsKey&) const = default;
};

class Maker {
 public:
  std::shared_ptr<SourceCosts> Make(const std::shared_ptr<const HeatFacts>& heat,
                                    const std::shared_ptr<const Module>& first) {
    made_->heat = heat;
    made_->first = first;
    for (uint32_t i = 0; i < first->instructions().size(); ++i) {
      const hlo::SourceLine line = hlo::SourceLineOf(*first, InstructionId(i));
      if (line.line > 0) FileOf(line.file).lines[line.line].written.emplace_back(i);
    }
    hlo::LinesWithCalled lines(*heat->of);
    for (uint32_t i = 0; i < heat->values.size(); ++i) {
      if (heat->values[i] > 0) Count(InstructionId(i), lines.Of(InstructionId(i)), heat->values[i]);
    }
    std::ranges::stable_sort(made_->files, std::greater(), &SourceCostFile::value);
    for (const SourceCostFile& file : made_->files) {
      for (const auto& [number, line] : file.lines) made_->most = std::max(made_->most, line.value);
    }
    return made_;
  }

 private:
  SourceCostFile& FileOf(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, made_->files.size());
    if (is_new) made_->files.push_back({.name = name, .lines = {}});
    return made_->files[at->second];
  }
  void Count(InstructionId id, const hlo::SourceLine& line, double value) {
    const bool is_error = made_->heat->measure == HeatMeasure::kError;
    const auto add = [&](double& sum) { sum = is_error ? std::max(sum, value) : sum + value; };
    if (line.line <= 0) return add(made_->unknown);
    SourceCostFile& file = FileOf(line.file);
    SourceCostLine& at = file.lines[line.line];
    at.hot.push_back(id);
    add(at.value);
    add(file.value);
  }

  std::shared_ptr<SourceCosts> made_ = std::make_shared<SourceCosts>();
  std::unordered_map<std::string, size_t> numbers_;
};

}  // namespace

double SourceCosts::PlaceOf(double value) const {
  if (heat->measure == HeatMeasure::kError) return heat->PlaceOf(value);
  return most > 0 ? std::clamp(value / most, 0.0, 1.0) : 0;
}

const SourceCostLine* SourceCosts::Find(const std::string& file, int32_t line) const {
  const auto at = std::ranges::find(files, file, &SourceCostFile::name);
  if (at == files.end()) return nullptr;
  const auto found = at->lines.find(line);
  return found == at->lines.end() ? nullptr : &found->second;
}

std::shared_ptr<const SourceCosts> SourceCostsOf(Context& context) {
  std::shared_ptr<const HeatFacts> heat = HeatInView(context);
  if (heat == nullptr && MeasureInView(context) != HeatMeasure::kOff) return nullptr;
  if (heat == nullptr || !heat->missing.empty()) heat = HeatFactsOf(context, HeatMeasure::kBytes);
  if (heat == nullptr || heat->of == nullptr) return nullptr;
  const Pending<Module>& first = context.data.Module(heat->module, 0);
  if (!first.ready()) return nullptr;
  const Pending<SourceCosts>& made = context.cache.Get(
      CostsKey{heat}, "summing up source lines", [heat, first = first.value](TaskControl&) {
        return Computed<SourceCosts>(Maker().Make(heat, first));
      });
  return made.ready() ? made.value : nullptr;
}

}  // namespace hloscope::viewer
