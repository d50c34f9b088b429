// Resources by ptxas, threads by the PTX, the rest by the device's description.
#include "app/commands/assembled_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

// The numbers behind `.reqntid` or `.maxntid` of an entry, multiplied.
double ThreadsOf(std::string_view ptx, std::string_view kernel) {
  const size_t entry = ptx.find(fmt::format(".entry {}(", kernel));
  if (entry == std::string_view::npos) return 0;
  const std::string_view head = ptx.substr(entry, ptx.find('{', entry) - entry);
  for (const std::string_view key : {".reqntid ", ".maxntid "}) {
    const size_t at = head.find(key);
    if (at == std::string_view::npos) continue;
    double product = 1;
    const char* next = head.data() + at + key.size();
    const char* const end = head.data() + head.size();
    for (int i = 0; i < 3 && next < end; ++i) {
      int64_t number = 0;
      const auto [stopped, error] = std::from_chars(next, end, number);
      if (error != std::errc()) break;
      product *= static_cast<double>(number);
      next = stopped;
      while (next < end && (*next == ',' || *next == ' ')) ++next;
    }
    return product;
  }
  return 0;
}

int64_t Spilled(const KernelOnDevice& kernel) {
  return kernel.resources.spill_store_bytes.value_or(0) +
         kernel.resources.spill_load_bytes.value_or(0);
}

}  // namespace

AssembledKernels OnDevice(const replay::AssembledCode& code, std::string_view ptx,
                          profiler::DeviceFacts device) {
  AssembledKernels all{std::move(device), {}};
  for (const auto& [name, resources] : code.kernels) {
    KernelOnDevice& kernel =
        all.kernels.emplace_back(KernelOnDevice{name, resources, ThreadsOf(ptx, name)});
    if (kernel.threads <= 0) continue;
    kernel.occupancy = profiler::Occupancy(all.device, kernel.threads,
                                           static_cast<double>(resources.registers.value_or(0)),
                                           static_cast<double>(resources.shared_bytes.value_or(0)));
  }
  std::ranges::stable_sort(all.kernels, {}, [](const KernelOnDevice& kernel) {
    return std::tuple(-Spilled(kernel), kernel.occupancy);
  });
  return all;
}

std::string KernelsText(const AssembledKernels& all) {
  if (all.kernels.empty()) return {};
  std::string out =
      FormatText("  {:>9} {:>9} {:>9} {:>7} {:>9}  kernel{}\n", "registers", "spills", "shared",
                 "threads", "occupancy", all.device.name.empty() ? "" : " on " + all.device.name);
  for (const KernelOnDevice& kernel : all.kernels) {
    const std::string occupancy =
        kernel.occupancy < 0 ? "?" : fmt::format("{:.0f} %", 100 * kernel.occupancy);
    out += FormatText("  {:>9} {:>9} {:>9} {:>7.0f} {:>9}  {}\n",
                      kernel.resources.registers.value_or(0), Spilled(kernel),
                      kernel.resources.shared_bytes.value_or(0), kernel.threads, occupancy,
                      kernel.name);
  }
  return out;
}

void AppendKernels(const AssembledKernels& all, JsonWriter& json) {
  if (all.kernels.empty()) return;
  json.Key("device");
  all.device.name.empty() ? json.Null() : json.Value(all.device.name);
  json.Key("kernels_on_device").BeginArray();
  for (const KernelOnDevice& kernel : all.kernels) {
    json.BeginObject()
        .Field("kernel", kernel.name)
        .Field("registers", kernel.resources.registers.value_or(0))
        .Field("spilled_bytes", Spilled(kernel))
        .Field("shared_bytes", kernel.resources.shared_bytes.value_or(0))
        .Field("threads", static_cast<int64_t>(kernel.threads))
        .Key("occupancy");
    kernel.occupancy < 0 ? json.Null() : json.Value(kernel.occupancy);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace hloscope::app
