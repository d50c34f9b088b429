// The tree: values at the peak under the scopes of what computes them.
#include "viewer/facts/memory/peak_scopes.h"

#include <algorithm>
#include <functional>
#include <span>

#include "viewer/facts/memory/memory_groups.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

// Scopes nest as deep as programs do; a picture does not.
constexpr size_t kDeepest = 4;

PeakScope& Inside(PeakScope& scope, const std::string& name) {
  const auto found = std::ranges::find_if(scope.inside, [&](const PeakScope& each) {
    return each.name == name && !each.inside.empty();
  });
  if (found != scope.inside.end()) return *found;
  return scope.inside.emplace_back(PeakScope{.name = name, .inside = {}});
}

void Add(PeakScope& root, const PeakValue& value, std::string name) {
  PeakScope* at = &root;
  at->bytes += value.bytes;
  const size_t depth = std::min(value.scope.size(), kDeepest);
  for (const std::string& word : std::span(value.scope).first(depth)) {
    at = &Inside(*at, word);
    at->bytes += value.bytes;
  }
  if (value.scope.empty()) {
    at = &Inside(root, "not named");
    at->bytes += value.bytes;
  }
  at->inside.push_back(
      {.name = std::move(name), .bytes = value.bytes, .value = value.value, .inside = {}});
}

void Sort(PeakScope& scope) {
  for (PeakScope& each : scope.inside) Sort(each);
  std::ranges::stable_sort(scope.inside, std::greater(), &PeakScope::bytes);
  if (!scope.inside.empty()) scope.value = scope.inside.front().value;
}

}  // namespace

const Pending<PeakScope>* PeakScopesOf(Context& context, int32_t module) {
  const Pending<dump::BufferTable>& table = context.data.Buffers(module);
  const int32_t stage = context.document.dump()->FinalStage(module);
  if (!table.ready() || !table->has_values() || stage < 0) return nullptr;
  const Pending<hlo::Module>& read = context.data.Module(module, stage);
  if (!read.ready()) return nullptr;
  return &context.cache.Get(
      PartKey<PeakScope>{module}, "sorting buffers into scopes",
      [table = table.value, compiled = read.value](TaskControl&) {
        auto root = std::make_shared<PeakScope>();
        root->name = "peak";
        for (const PeakValue& value : PeakValuesOf(*table, PlanOf(*table), *compiled)) {
          const auto& buffer = table->values[static_cast<size_t>(value.value)];
          Add(*root, value, buffer.instruction.empty() ? "unknown" : buffer.instruction);
        }
        Sort(*root);
        return Computed<PeakScope>(std::move(root));
      });
}

}  // namespace hloscope::viewer
