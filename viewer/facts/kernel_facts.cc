// Facts of a kernel, of the dump, the profile and its machine code.
#include "viewer/facts/kernel_facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "viewer/facts/profile_model.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

std::string Joined(const dump::Extent3& extent) {
  return fmt::format("{} × {} × {}", extent[0], extent[1], extent[2]);
}

bool IsSelected(Context& context, const KernelSheet& sheet, const KernelRow& row) {
  const Selection& now = context.navigation.selection();
  if (now.kind == SelectionKind::kKernel) return now.kernel == row.kernel_index;
  if (now.kind == SelectionKind::kInstruction) {
    return row.instruction.valid() && now.instruction == row.instruction &&
           now.stage == sheet.stage;
  }
  if (now.kind != SelectionKind::kEvent) {
    const std::vector<int32_t>& kernels = context.navigation.counterparts().kernels;
    return row.kernel_index >= 0 && std::ranges::find(kernels, row.kernel_index) != kernels.end();
  }
  const Pending<ProfileModel>* profile = ProfileOf(context);
  if (profile == nullptr || !profile->ready() || !row.longest.valid()) return false;
  const profiler::Attribution& all = *(*profile)->attribution;
  const profiler::Target of_row = all.TargetOf(row.longest);
  const profiler::Target target = all.TargetOf(profiler::EventId(static_cast<uint32_t>(now.event)));
  return target.valid() && target.module == of_row.module &&
         target.instruction == of_row.instruction;
}

// "5 × 3.15 ms": of the launch that is selected, else of all that share the code.
std::string TimesText(Context& context, int32_t kernel, const KernelRow& row) {
  const KernelSheet& sheet = **KernelSheetOf(context);
  int64_t count = row.count, total = row.total, launches = 1;
  const bool is_one = sheet.stage == context.navigation.counterparts().final_stage &&
                      std::ranges::count(context.navigation.counterparts().kernel_instructions,
                                         row.instruction) > 0;
  if (!is_one || context.navigation.selection().kind == SelectionKind::kKernel) {
    count = total = launches = 0;
    for (const KernelRow& each : sheet.rows) {
      if (each.kernel_index != kernel || each.count == 0) continue;
      count += each.count;
      total += each.total;
      ++launches;
    }
  }
  if (count == 0 || row.sums.launches > 0) return {};
  return fmt::format("{} × {}{}", count,
                     TimeText(static_cast<double>(total) / static_cast<double>(count)),
                     launches > 1 ? fmt::format(" in {}", Counted(launches, "instruction")) : "");
}

// By the registers that the assembler gave; -1: the device or the launch is not known.
double MadeOccupancy(Context& context, const KernelRow& row, const debug::MachineCode& code) {
  const Pending<KernelSheet>* sheet = KernelSheetOf(context);
  if (sheet == nullptr || !sheet->ready() || !row.launch.threads || !code.resources.registers)
    return -1;
  const auto& [x, y, z] = *row.launch.threads;
  const double shared = static_cast<double>(
      std::max(code.resources.shared_bytes.value_or(0), row.shared_bytes.value_or(0)));
  return profiler::Occupancy(
      (*sheet)->device, static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z),
      static_cast<double>(*code.resources.registers), shared);
}

}  // namespace

const KernelRow* KernelRowOf(Context& context, int32_t kernel) {
  const Pending<KernelSheet>* sheet = KernelSheetOf(context);
  if (sheet == nullptr || !sheet->ready()) return nullptr;
  // Equal fusions share the code: of several launches the one that is selected.
  const Counterparts& found = context.navigation.counterparts();
  const KernelRow* first = nullptr;
  for (const KernelRow& row : (*sheet)->rows) {
    if (row.kernel_index != kernel) continue;
    if (first == nullptr) first = &row;
    if ((*sheet)->stage == found.final_stage &&
        std::ranges::count(found.kernel_instructions, row.instruction) > 0)
      return &row;
  }
  return first;
}

const KernelRow* LinedRowOf(Context& context) {
  const Pending<KernelSheet>* sheet = KernelSheetOf(context);
  if (sheet == nullptr || !sheet->ready()) return nullptr;
  const bool is_any = context.navigation.selection().kind <= SelectionKind::kStage;
  for (const KernelRow& row : (*sheet)->rows) {
    if (row.sums.lines.empty()) continue;
    if (is_any || IsSelected(context, **sheet, row)) return &row;
  }
  return nullptr;
}

std::string KernelFactsText(Context& context, const dump::Kernel& kernel, int32_t number,
                            const debug::MachineCode* made) {
  std::string text;
  auto add = [&](const std::string& part) { text += (text.empty() ? "" : "   ") + part; };
  if (kernel.launch.blocks) add("grid " + Joined(*kernel.launch.blocks));
  if (kernel.launch.threads) add("block " + Joined(*kernel.launch.threads));
  if (!kernel.launch.threads && kernel.max_threads) {
    add(fmt::format("at most {} a block", Counted(*kernel.max_threads, "thread")));
  }
  if (made != nullptr) {
    if (const std::string resources = ResourcesText(made->resources); !resources.empty())
      add(resources);
  } else {
    if (kernel.registers) add(Counted(*kernel.registers, "register"));
    if (kernel.shared_bytes) add(BytesText(*kernel.shared_bytes) + " shared");
  }
  if (const KernelRow* row = KernelRowOf(context, number)) {
    const double occupancy = made != nullptr ? MadeOccupancy(context, *row, *made) : -1;
    if (occupancy >= 0) {
      add(fmt::format("theoretical occupancy {:.0f} %", 100 * occupancy));
    } else if (row->occupancy >= 0) {
      add(fmt::format("occupancy {}{:.0f} %", row->is_occupancy_bound ? "at most " : "",
                      100 * row->occupancy));
    }
    if (const std::string times = TimesText(context, number, *row); !times.empty()) add(times);
  }
  if (!text.empty()) return text;
  const auto modules = context.document.dump()->modules();
  const auto module = static_cast<size_t>(context.navigation.module());
  const bool is_cpu = module < modules.size() && modules[module].device == "cpu";
  return is_cpu ? "on a CPU, without launch dimensions" : "launch dimensions unknown";
}

}  // namespace hloscope::viewer
