#include "viewer/facts/memory/what_if.h"

#include <utility>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxRows = 20;

struct PeakKey {
  using Value = int64_t;
  int32_t module = -1;
  std::vector<analysis::ValueChange> changes;
  auto operator<=>(const PeakKey&) const = default;
};

std::shared_ptr<const WhatIf> Make(const std::shared_ptr<const hlo::Module>& module,
                                   const std::shared_ptr<const dump::BufferTable>& table,
                                   std::string_view device, const std::stop_token& stop) {
  auto made = std::make_shared<WhatIf>();
  made->engine = std::make_unique<analysis::MemoryWhatIf>(module, table, device);
  for (const int32_t value : made->engine->Holders(kMaxRows)) {
    WhatIfRow& row = made->rows.emplace_back();
    row.value = value;
    for (size_t c = 0; c < row.cells.size() && !stop.stop_requested(); ++c) {
      const analysis::ValueChange change{value, static_cast<analysis::MemoryChange>(c)};
      row.cells[c].why_not = made->engine->WhyNot(change);
      if (row.cells[c].why_not.empty())
        row.cells[c].bytes = made->engine->PeakWith(std::span(&change, 1));
    }
  }
  return made;
}

}  // namespace

const Pending<WhatIf>* WhatIfOf(Context& context, int32_t module) {
  const dump::DumpModel& dump = *context.document.dump();
  const int32_t stage = dump.FinalStage(module);
  const Pending<hlo::Module>& read = context.data.Module(module, stage);
  if (read.waiting()) return nullptr;
  return &context.cache.Get(
      PartKey<WhatIf>{module}, "estimating memory",
      [read = read.value, error = read.error, table = context.data.Buffers(module).value,
       device = dump.modules()[static_cast<size_t>(module)].device](
          TaskControl& control) -> Result<std::shared_ptr<const WhatIf>> {
        if (read == nullptr) return std::unexpected(error);
        return Make(read, table, device, control.stop());
      });
}

const Pending<int64_t>& TotalWith(Context& context, int32_t module,
                                  std::shared_ptr<const WhatIf> what_if,
                                  const std::vector<analysis::ValueChange>& changes) {
  return context.cache.Get(PeakKey{module, changes}, "estimating memory",
                           [what_if = std::move(what_if), changes](TaskControl&) {
                             return Computed<int64_t>(std::make_shared<const int64_t>(
                                 what_if->engine->PeakWith(changes)));
                           });
}

}  // namespace hloscope::viewer
