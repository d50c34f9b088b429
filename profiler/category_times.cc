#include "profiler/category_times.h"

#include <algorithm>
#include <map>

#include "core/base/strings.h"
#include "profiler/saturating_add.h"

namespace hloscope::profiler {

std::string CategoryOf(const hlo::Module& module, hlo::InstructionId id) {
  std::string text;
  const hlo::Category category = hlo::Info(module[id].opcode).category;
  switch (category) {
#define OPERATION_CATEGORY(name, words) \
  case hlo::Category::name:             \
    text = words;                       \
    break;
#include "profiler/operation_categories.def"
#undef OPERATION_CATEGORY
  }
  if (category != hlo::Category::kFusion) return text;
  constexpr auto kKey = hlo::AttributeKey::kFusionKind;
  std::string_view kind = hlo::EnumText(kKey, module.GetInt(module[id], kKey));  // "kLoop"
  if (kind.starts_with('k')) kind.remove_prefix(1);
  const std::string out = AsciiStrToLower(kind);
  return out.empty() ? text : out + " " + text;
}

std::vector<CategoryTime> CategoryTimes(const Attribution& attribution) {
  std::map<std::string, CategoryTime> by_name;
  for (const InstructionTime& time : attribution.times()) {
    const hlo::Module& module = *attribution.modules()[time.target.module].module;
    const std::string name = CategoryOf(module, time.target.instruction);
    CategoryTime& category = by_name[name];
    category.name = name;
    category.count = SaturatingAdd(category.count, time.count);
    category.self = SaturatingAdd(category.self, time.self);
  }
  std::vector<CategoryTime> out;
  for (auto& [name, category] : by_name) out.push_back(std::move(category));
  std::ranges::stable_sort(out, std::greater<>(), &CategoryTime::self);
  return out;
}

}  // namespace hloscope::profiler
