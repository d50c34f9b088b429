// Work by kernel: costs by shapes, times how often each runs; library calls by what they compute.
#include "core/graph/kernel_work.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "core/analysis/place/call_counts.h"
#include "core/base/json.h"
#include "core/hlo/expand/expand.h"

namespace hloscope::graph {
namespace {

using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

// What the first dot or convolution below an instruction multiplies.
class MultipliedTypes {
 public:
  explicit MultipliedTypes(const Module& module) : module_(module) {}

  ElementType Of(InstructionId id, int depth = 0) {
    const hlo::Instruction& i = module_[id];
    if ((i.opcode == Opcode::kDot || i.opcode == Opcode::kConvolution) && i.operand_count > 0)
      return module_.shape(module_.operands(id).front()).element_type();
    if (depth == kDeepest) return ElementType::kInvalid;
    for (const hlo::ComputationId c : module_.CalledComputations(i)) {
      const ElementType found = Of(c, depth + 1);
      if (found != ElementType::kInvalid) return found;
    }
    return ElementType::kInvalid;
  }

 private:
  static constexpr int kDeepest = 4;

  // Each computation is looked through once for each depth, however often it is called.
  ElementType Of(hlo::ComputationId c, int depth) {
    const auto [known, is_new] = known_.try_emplace({c.index, depth}, ElementType::kInvalid);
    if (!is_new) return known->second;
    ElementType found = ElementType::kInvalid;
    for (uint32_t k = 0; k < module_[c].instruction_count; ++k) {
      found = Of(InstructionId(module_[c].first_instruction + k), depth);
      if (found != ElementType::kInvalid) break;
    }
    return known->second = found;
  }

  const Module& module_;
  std::map<std::pair<uint32_t, int>, ElementType> known_;
};

double FlopsOf(const hlo::Cost& cost) { return cost.flops + cost.transcendentals; }

// What a library computes is not in the module: the plain instructions that mean the same count.
void AddLibraryWork(const Module& module, InstructionId id, hlo::Cost& cost,
                    ElementType& multiplied) {
  const auto expanded = hlo::expand::Expand(module, id);
  if (!expanded.has_value() || *expanded == nullptr) return;
  const Module& plain = **expanded;
  const hlo::Cost& work = hlo::CostsOf(plain).Of(plain.entry_id());
  cost.flops = work.flops;
  cost.transcendentals = work.transcendentals;
  cost.is_known = work.is_known;
  const hlo::Computation& entry = plain[plain.entry_id()];
  MultipliedTypes types(plain);
  for (uint32_t k = 0; k < entry.instruction_count; ++k) {
    if (multiplied == ElementType::kInvalid)
      multiplied = types.Of(InstructionId(entry.first_instruction + k));
  }
}

hlo::Cost CostOf(const Module& module, InstructionId id, ElementType& multiplied) {
  hlo::Cost cost = hlo::CostsOf(module).Of(id);
  if (module[id].opcode == Opcode::kCustomCall) AddLibraryWork(module, id, cost, multiplied);
  return cost;
}

// Operations a second of the fastest units that may compute them.
double RateFor(ElementType multiplied, const profiler::DeviceFacts& device) {
  constexpr double kMultiplyAdd = 2;
  const int bits = hlo::BitWidth(hlo::RealPart(multiplied));
  if (multiplied == ElementType::kInvalid || bits == 0) return device.flops_per_second;
  const double products = bits >= 64   ? device.products_f64
                          : bits >= 32 ? device.products_tf32
                          : bits >= 16 ? device.products_16bit
                          : bits >= 8  ? device.products_8bit
                                       : device.products_4bit;
  const double scalar = bits >= 64 ? device.doubles_per_second : device.flops_per_second;
  return std::max(scalar, kMultiplyAdd * products);
}

using Measure = std::function<double(const KernelWork&)>;

void WriteMeasure(const Module& compiled, const KernelMap& map,
                  const std::vector<KernelWork>& works, const Measure& measure, JsonWriter& json) {
  constexpr size_t kShown = 10;
  double sum = 0;
  std::vector<uint32_t> order(works.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](uint32_t k) {
    return std::pair(-measure(works[k]), map.kernels[k].instruction.index);
  });
  for (const KernelWork& work : works) sum += measure(work);
  json.BeginObject().Field("sum", sum).Key("most").BeginArray();
  for (size_t k = 0; k < std::min(kShown, order.size()); ++k) {
    const double value = measure(works[order[k]]);
    if (value <= 0) break;
    json.BeginObject().Field("instruction", compiled.name(map.kernels[order[k]].instruction));
    json.Field("value", value).EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace

hlo::Cost CostOfKernel(const Module& module, InstructionId id) {
  ElementType multiplied = ElementType::kInvalid;
  return CostOf(module, id, multiplied);
}

std::vector<KernelWork> WorkOf(const Module& compiled, const KernelMap& map) {
  std::vector<KernelWork> works;
  works.reserve(map.kernels.size());
  const std::vector<int64_t> executions = analysis::CountCalls(compiled).executions;
  MultipliedTypes types(compiled);
  for (const KernelMap::Kernel& kernel : map.kernels) {
    ElementType multiplied = types.Of(kernel.instruction);
    const hlo::Cost cost = CostOf(compiled, kernel.instruction, multiplied);
    KernelWork work{.traffic = {cost.bytes_read, cost.bytes_written},
                    .flops = FlopsOf(cost),
                    .is_flops_known = cost.is_known,
                    .multiplied = multiplied};
    const int64_t times = executions[compiled[kernel.instruction].computation.index];
    work.is_counted_once = times < 0;
    const double often = times < 0 ? 1 : static_cast<double>(times);
    work.traffic.read *= often;
    work.traffic.written *= often;
    work.flops *= often;
    works.push_back(work);
  }
  return works;
}

double LeastTime(const KernelWork& work, const profiler::DeviceFacts& device) {
  constexpr double kPicoseconds = 1e12;
  const double rate = RateFor(work.multiplied, device);
  if (device.bytes_per_second <= 0 || rate <= 0) return -1;
  return kPicoseconds * std::max(work.traffic.bytes() / device.bytes_per_second, work.flops / rate);
}

void WriteWork(const Module& compiled, const KernelMap& map, const profiler::DeviceFacts& device,
               JsonWriter& json) {
  const std::vector<KernelWork> works = WorkOf(compiled, map);
  json.BeginObject().Key("bytes");
  WriteMeasure(compiled, map, works, [](const KernelWork& w) { return w.traffic.bytes(); }, json);
  json.Key("flops");
  WriteMeasure(compiled, map, works, [](const KernelWork& w) { return w.flops; }, json);
  json.Key("estimate_ps");
  if (LeastTime({}, device) < 0) {
    json.Null();
  } else {
    WriteMeasure(
        compiled, map, works, [&](const KernelWork& w) { return LeastTime(w, device); }, json);
  }
  json.Field("unknown_flops", std::ranges::count(works, false, &KernelWork::is_flops_known));
  json.Field("counted_once", std::ranges::count(works, true, &KernelWork::is_counted_once));
  json.EndObject();
}

}  // namespace hloscope::graph
